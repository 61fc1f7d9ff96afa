#include "data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <numeric>

#include "base/check.h"
#include "dyadic/data_files.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {

InputFile::InputFile(std::string_view who, const std::string& path)
    : file_(gzopen(path.c_str(), "rb"), gzclose), who_(who), path_(path) {
  DY_CHECK(file_, "{}: {} cannot be opened: {}", who, path, strerror(errno));
  gzbuffer(file_.get(), 1 << 17);
}
size_t InputFile::read(void* out, size_t n) {
  size_t done = 0;
  while (done < n) {
    const unsigned step = unsigned(std::min(n - done, size_t(1) << 30));
    const int got = gzread(file_.get(), static_cast<char*>(out) + done, step);
    int code = Z_OK;
    const char* why = gzerror(file_.get(), &code);
    // A packed file that ends too early is noticed with the last piece.
    if (got < 0 || code == Z_BUF_ERROR)
      damaged(code == Z_ERRNO ? strerror(errno) : code == Z_BUF_ERROR ? "it ends too early" : why);
    done += size_t(got);
    if (unsigned(got) < step) break;
  }
  return done;
}
bool InputFile::read_line(std::string& line) {
  line.clear();
  char part[4096];
  while (gzgets(file_.get(), part, sizeof part)) {
    line += part;
    if (!line.empty() && line.back() == '\n') break;
  }
  int code = Z_OK;
  const char* why = gzerror(file_.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END)
    damaged(code == Z_ERRNO ? strerror(errno) : code == Z_BUF_ERROR ? "it ends too early" : why);
  if (line.empty()) return false;
  if (line.back() == '\n') line.pop_back();
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}
std::string InputFile::rest() {
  std::string out;
  for (size_t n = 1 << 16;; n = std::min(n * 2, size_t(1) << 26)) {
    const size_t before = out.size();
    out.resize(before + n);
    const size_t got = read(out.data() + before, n);
    out.resize(before + got);
    if (got < n) return out;
  }
}
void InputFile::damaged(std::string_view why) const { fail<ValueError>("{}: {}: {}", who_, path_, why); }

std::string read_text(const std::string& path) { return InputFile("read_text", path).rest(); }

std::unique_ptr<ValueStream> TextLines::iter() {
  struct Lines : ValueStream {
    InputFile file;
    explicit Lines(const std::string& path) : file("TextLines", path) {}
    bool next(Value& v) override {
      std::string line;
      if (!file.read_line(line)) return false;
      v = std::move(line);
      return true;
    }
  };
  return std::make_unique<Lines>(path_);
}

namespace {

struct Mapping {
  void* at;
  size_t bytes;
};
void unmap(void* context) {
  std::unique_ptr<Mapping> m(static_cast<Mapping*>(context));
  munmap(m->at, m->bytes);
}

}  // namespace

Tensor map_file(const std::string& path, DType dtype, IntList size, int64_t offset) {
  DY_CHECK_AS(TypeError, !dtype.format()->is_blocked(), "map_file: {} has no elements of whole bytes", dtype.name());
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) close(fd);
    }
  } file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info;
  DY_CHECK(file.fd >= 0 && fstat(file.fd, &info) == 0, "map_file: {} cannot be opened: {}", path, strerror(errno));
  const int64_t item = dtype.itemsize(), there = int64_t(info.st_size) - offset;
  DY_CHECK_AS(ValueError, offset >= 0 && offset % item == 0 && there >= 0,
              "map_file: {}: the offset is not that of an element of {}: it is {} of {} bytes", path, dtype.name(), offset,
              int64_t(info.st_size));
  const int64_t all[] = {there / item};
  if (size.empty()) {
    DY_CHECK_AS(ValueError, there % item == 0, "map_file: {}: {} bytes are not whole elements of {}", path, there,
                dtype.name());
    size = all;
  }
  DY_CHECK_AS(ValueError, checked_numel("map_file", size) <= all[0],
              "map_file: {}: a tensor {} of {} needs {} bytes, there are {}", path, shape_text(size), dtype.name(),
              checked_numel("map_file", size) * item, there);
  if (checked_numel("map_file", size) == 0) return empty(size, dtype);
  const size_t bytes = size_t(info.st_size);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
  DY_CHECK(at != MAP_FAILED, "map_file: {} cannot be mapped: {}", path, strerror(errno));
  return make_foreign_view(static_cast<char*>(at) + offset, size, dtype, unmap, new Mapping{at, bytes});
}

TokenDataset::TokenDataset(Tensor tokens, int64_t block_size, std::optional<int64_t> stride)
    : tokens_(std::move(tokens)), block_(block_size), stride_(stride.value_or(block_size)) {
  DY_CHECK_AS(ValueError, tokens_.dim() == 1 && tokens_.dtype().is_integer(),
              "TokenDataset: tokens are integers in one dimension: here is {}", describe(tokens_));
  DY_CHECK_AS(ValueError, block_ > 0 && stride_ > 0, "TokenDataset: block_size and stride are positive: they are {} and {}",
              block_, stride_);
}
TokenDataset::TokenDataset(const std::string& path, int64_t block_size, DType dtype, std::optional<int64_t> stride)
    : TokenDataset(map_file(path, dtype), block_size, stride) {}
int64_t TokenDataset::size() {
  const int64_t n = tokens_.numel() - 1 - block_;
  return n < 0 ? 0 : n / stride_ + 1;
}
Value TokenDataset::get(int64_t index) {
  const Tensor window = narrow(tokens_, 0, index * stride_, block_ + 1).to(i64);
  return Value::List{narrow(window, 0, 0, block_), narrow(window, 0, 1, block_)};
}

}  // namespace dyadic::inline v1::data
