#include "data/file.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include <algorithm>

#include "base/check.h"
#include "dyadic/data_files.h"
#include "dyadic/memmap.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {

InputFile::InputFile(std::string_view who, const std::string& path)
    : file_(gzopen(path.c_str(), "rb"), gzclose), who_(who), path_(path) {
  DY_CHECK(file_, "{}: {} cannot be opened: {}", who, path, strerror(errno));
  gzbuffer(file_.get(), 1 << 17);
}
void InputFile::check() const {
  int code = Z_OK;
  const char* why = gzerror(file_.get(), &code);
  if (code == Z_OK || code == Z_STREAM_END) return;
  // A packed file that ends too early is noticed with its last piece.
  damaged(code == Z_ERRNO ? strerror(errno) : code == Z_BUF_ERROR ? "it ends too early" : why);
}
size_t InputFile::read(void* out, size_t n) {
  size_t done = 0;
  while (done < n) {
    const unsigned step = unsigned(std::min(n - done, size_t(1) << 30));
    const int got = gzread(file_.get(), static_cast<char*>(out) + done, step);
    check();
    if (got <= 0) break;
    done += size_t(got);
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
  check();
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

TokenDataset::TokenDataset(Tensor tokens, int64_t block_size, std::optional<int64_t> stride)
    : tokens_(std::move(tokens)), block_(block_size), stride_(stride.value_or(block_size)) {
  DY_CHECK_AS(ValueError, tokens_.dim() == 1 && tokens_.dtype().is_integer(),
              "TokenDataset: tokens are integers in one dimension: here is {}", describe(tokens_));
  DY_CHECK_AS(ValueError, block_ > 0 && stride_ > 0, "TokenDataset: block_size and stride are positive: they are {} and {}",
              block_, stride_);
}
TokenDataset::TokenDataset(const std::string& path, int64_t block_size, DType dtype, std::optional<int64_t> stride)
    : TokenDataset(memmap(path, {.dtype = dtype}), block_size, stride) {}
int64_t TokenDataset::size() {
  const int64_t n = tokens_.numel() - 1 - block_;
  return n < 0 ? 0 : n / stride_ + 1;
}
Value TokenDataset::get(int64_t index) {
  const Tensor window = narrow(tokens_, 0, index * stride_, block_ + 1).to(i64);
  return Value::List{narrow(window, 0, 0, block_), narrow(window, 0, 1, block_)};
}

}  // namespace dyadic::inline v1::data
