#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/packed.h"
#include "io/bad_file.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) close(fd);
    }
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe must not hang here
  struct stat s;
  if (file.fd < 0 || fstat(file.fd, &s) != 0) fail("{}: cannot be opened: {}", path, std::strerror(errno));
  if (!S_ISREG(s.st_mode)) fail("{}: cannot be opened: it is {}", path, S_ISDIR(s.st_mode) ? "a folder" : "not a regular file");
  std::shared_ptr<MappedFile> m(new MappedFile);
  m->path_ = path;
  m->size_ = uint64_t(s.st_size);
  if (m->size_ == 0) return m;
  void* at = mmap(nullptr, m->size_, PROT_READ, MAP_SHARED, file.fd, 0);
  if (at == MAP_FAILED) {
    m->size_ = 0;
    fail("{}: cannot be opened: {}", path, std::strerror(errno));
  }
  m->at_ = static_cast<char*>(at);
  return m;
}

MappedFile::~MappedFile() {
  if (at_) munmap(at_, size_);
}

void MappedFile::drop(uint64_t offset, uint64_t n) const {
  static const auto kPage = uint64_t(sysconf(_SC_PAGESIZE));
  const uint64_t begin = (offset + kPage - 1) / kPage * kPage, end = std::min(offset + n, size_) / kPage * kPage;
  if (begin < end) madvise(at_ + begin, end - begin, MADV_DONTNEED);
}

namespace {

// Of a tensor in the file. Its pages go with it: what reads a file tensor by tensor holds one of them at a time.
struct Keeper {
  std::shared_ptr<const MappedFile> file;
  uint64_t offset, bytes;
};
void let_go_of_file(void* keeper) {
  const std::unique_ptr<Keeper> k(static_cast<Keeper*>(keeper));
  k->file->drop(k->offset, k->bytes);
}

}  // namespace

bool is_mapped(const Tensor& t) { return t.impl()->storage->free_foreign == let_go_of_file; }

Tensor MappedFile::tensor(std::string_view name, DType dtype, IntList shape, uint64_t offset, uint64_t bytes) const {
  const auto refuse = [&](const std::string& why) { bad(path_, "tensor {}: {}", quote_name(name), why); };
  if (shape.size() > kMaxDims) refuse(fmt::format("it has {} dimensions; {} is the most", shape.size(), int(kMaxDims)));
  uint64_t wanted = 0;
  try {
    int64_t n = checked_numel("tensor", shape), plain = 0;
    if (dtype.is_blocked()) {
      const int64_t cols = shape.empty() ? 1 : shape[shape.size() - 1];
      wanted = uint64_t(planes_of(*dtype.format(), {cols ? n / cols : 0, cols}).bytes);
    } else if (__builtin_mul_overflow(n, dtype.itemsize(), &plain)) {
      refuse("it is too large");
    } else {
      wanted = uint64_t(plain);
    }
  } catch (const ValueError& error) { refuse(error.what()); }
  if (wanted != bytes) refuse(fmt::format("{}{} is {} bytes, the file has {}", dtype.name(), shape_text(shape), wanted, bytes));
  if (offset > size_ || bytes > size_ - offset)
    refuse(fmt::format("it is bytes {} to {}, the file has {}", offset, offset + bytes, size_));
  const bool aligned = dtype.is_blocked() || offset % uint64_t(dtype.itemsize()) == 0;
  if (!aligned || bytes == 0) {
    Tensor t = make_tensor(shape, dtype, cpu);
    if (bytes) std::memcpy(t.impl()->storage->data, at_ + offset, bytes);
    return t;
  }
  auto* keeper = new Keeper{shared_from_this(), offset, bytes};
  Tensor t;
  try {
    t = make_foreign_view(at_ + offset, shape, dtype, let_go_of_file, keeper);
  } catch (...) {
    delete keeper;
    throw;
  }
  t.impl()->storage->read_only = true;
  t.impl()->storage->category = Category::data;
  return t;
}

}  // namespace dyadic::inline v1::io
