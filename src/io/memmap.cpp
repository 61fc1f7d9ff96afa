#include "dyadic/memmap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "io/npy.h"
#include "io/shared_memory.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

enum class Mode { read, write, create, copy };
Mode parse_mode(std::string_view text) {
  if (text == "r") return Mode::read;
  if (text == "r+") return Mode::write;
  if (text == "w+") return Mode::create;
  if (text == "c") return Mode::copy;
  fail<ValueError>("memmap: unknown mode \"{}\"; the known ones are r, r+, w+ and c", text);
}

class File {
  int fd_ = -1;
  const std::string& path_;

 public:
  int64_t size = 0;
  File(const std::string& path, Mode mode) : path_(path) {
    const int flags = mode == Mode::write ? O_RDWR : mode == Mode::create ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY;
    fd_ = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);  // a pipe must not hang here
    struct stat s;
    if (fd_ < 0 || fstat(fd_, &s) != 0) failed();
    if (!S_ISREG(s.st_mode)) {
      close(fd_);
      fail("{}: cannot be mapped: it is not a regular file", path_);
    }
    size = s.st_size;
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  int fd() const { return fd_; }
  int duplicate() const {
    const int other = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (other < 0) failed();
    return other;
  }
  [[noreturn]] void failed() const {
    const int error = errno;
    fail("{}: cannot be mapped: {}", path_, std::strerror(error));
  }
  std::string begin(size_t most) const {
    std::string bytes(std::min(most, size_t(size)), '\0');
    if (pread(fd_, bytes.data(), bytes.size(), 0) != ssize_t(bytes.size())) failed();
    return bytes;
  }
};

struct Mapping {
  void* at;
  size_t bytes;
};

// Elements from `offset` of the file on; the system maps whole pages.
Tensor map(const File& file, const std::string& path, Mode mode, DType dtype, IntList shape, int64_t offset) {
  int64_t n = checked_numel("memmap", shape), bytes = 0, end = 0;
  DY_CHECK_AS(
      ValueError,
      !__builtin_mul_overflow(n, dtype.itemsize(), &bytes) && !__builtin_add_overflow(bytes, offset, &end) && end <= file.size,
      "{}: too short: {}{} from byte {} on is {} bytes, the file has {}", path, dtype.name(), shape_text(shape), offset, bytes,
      file.size);
  DY_CHECK_AS(ValueError, offset % dtype.itemsize() == 0,
              "{}: the offset is not a multiple of the element: {} bytes, {} has {}", path, offset, dtype.name(),
              dtype.itemsize());
  if (bytes == 0) return make_tensor(shape, dtype, cpu);
  if (mode == Mode::write || mode == Mode::create) return io::map_shared(file.duplicate(), path, shape, dtype, offset);
  const int64_t page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  const int how = mode == Mode::read ? PROT_READ : PROT_READ | PROT_WRITE;
  const auto size = size_t(offset - begin + bytes);
  void* at = mmap(nullptr, size, how, mode == Mode::copy ? MAP_PRIVATE : MAP_SHARED, file.fd(), begin);
  if (at == MAP_FAILED) file.failed();
  auto* mapping = new Mapping{at, size};
  const auto release = [](void* context) {
    auto* m = static_cast<Mapping*>(context);
    munmap(m->at, m->bytes);
    delete m;
  };
  Tensor t = make_foreign_view(static_cast<char*>(at) + (offset - begin), shape, dtype, release, mapping);
  t.impl()->storage->read_only = mode == Mode::read;
  t.impl()->storage->category = Category::data;
  return t;
}

Tensor create(const std::string& path, bool npy, const MemmapOptions& o) {
  DY_CHECK_AS(ValueError, o.dtype && o.shape, "memmap: a new file needs dtype and shape: {}", path);
  const std::string header = npy ? io::npy_header(o.dtype, *o.shape) : std::string();
  const int64_t offset = npy ? int64_t(header.size()) : o.offset;
  int64_t bytes = checked_numel("memmap", *o.shape), end = 0;
  DY_CHECK_AS(ValueError,
              !__builtin_mul_overflow(bytes, o.dtype.itemsize(), &bytes) && !__builtin_add_overflow(bytes, offset, &end),
              "memmap: too large: {}{}", o.dtype.name(), shape_text(*o.shape));
  File file(path, Mode::create);
  if (ftruncate(file.fd(), end) != 0) file.failed();
  if (pwrite(file.fd(), header.data(), header.size(), 0) != ssize_t(header.size())) file.failed();
  file.size = end;
  return map(file, path, Mode::create, o.dtype, *o.shape, offset);
}

Tensor map_npy(const std::string& path, Mode mode, const MemmapOptions& o) {
  const File file(path, mode);
  const io::NpyHeader h = io::parse_npy_header(path, file.begin(1 << 17));
  DY_CHECK_AS(ValueError, !h.big_endian, "{}: its numbers are big-endian, and are not mapped; load_npy reads them", path);
  DY_CHECK_AS(ValueError, !o.dtype || o.dtype == h.dtype, "{}: its dtype is {}, not {}", path, h.dtype.name(), o.dtype.name());
  DY_CHECK_AS(ValueError, !o.shape || IntList(*o.shape) == IntList(h.shape), "{}: its shape is {}, not {}", path,
              shape_text(h.shape), shape_text(*o.shape));
  if (!h.fortran_order) return map(file, path, mode, h.dtype, h.shape, h.size);
  const std::vector<int64_t> reversed(h.shape.rbegin(), h.shape.rend());
  const Tensor t = map(file, path, mode, h.dtype, reversed, h.size);
  std::vector<int64_t> strides = t.strides().vec();
  std::reverse(strides.begin(), strides.end());
  return make_view(t, h.shape, strides, 0);
}

}  // namespace

Tensor memmap(const std::string& path, const MemmapOptions& o) {
  const Mode mode = parse_mode(o.mode);
  const bool npy = path.ends_with(".npy");
  DY_CHECK_AS(ValueError, o.offset >= 0 && !(npy && o.offset), "memmap: the offset is {}{}: {}", o.offset,
              npy ? ", but a .npy file says where it begins" : "", path);
  DY_CHECK_AS(TypeError, !o.dtype || !o.dtype.is_blocked(), "memmap: only plain dtypes are mapped: dtype is {}",
              o.dtype.name());
  if (mode == Mode::create) return create(path, npy, o);
  if (npy) return map_npy(path, mode, o);
  DY_CHECK_AS(ValueError, o.dtype, "memmap: which dtype? {} does not say; give one", path);
  const File file(path, mode);
  if (o.shape) return map(file, path, mode, o.dtype, *o.shape, o.offset);
  DY_CHECK_AS(ValueError, o.offset <= file.size, "{}: too short: the offset is {}, the file has {} bytes", path, o.offset,
              file.size);
  const int64_t rest = file.size - o.offset;
  DY_CHECK_AS(ValueError, rest % o.dtype.itemsize() == 0,
              "{}: {} bytes from byte {} on are no whole elements of {}; give a shape", path, rest, o.offset, o.dtype.name());
  return map(file, path, mode, o.dtype, {rest / o.dtype.itemsize()}, o.offset);
}

}  // namespace dyadic::inline v1
