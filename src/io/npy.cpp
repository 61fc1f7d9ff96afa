#include "io/npy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "formats/format.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kMaxNpyHeader = 1 << 16;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"<f8", f64}, {"<f4", f32}, {"<f2", f16}, {"<i8", i64}, {"<i4", i32},     {"<i2", i16}, {"|i1", i8},
    {"|u1", u8},  {"<u2", u16}, {"<u4", u32}, {"<u8", u64}, {"|b1", boolean}, {"<c8", c64}, {"<c16", c128}};

// A literal of Python: a dict with three known keys.
class NpyParser {
  const std::string& path_;
  std::string_view rest_;

 public:
  NpyParser(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

  void read(NpyHeader& h) {
    std::array<bool, 3> seen{};
    take('{');
    while (!take_if('}')) {
      const std::string_view key = text();
      take(':');
      const int k = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (k < 0 || seen[size_t(k)]) wrong("its keys are not descr, fortran_order and shape");
      seen[size_t(k)] = true;
      if (k == 0) h.dtype = dtype(h.big_endian);
      if (k == 1) h.fortran_order = boolean_word();
      if (k == 2) h.shape = shape();
      if (!take_if(',') && peek() != '}') wrong("its keys are not separated by commas");
    }
    if (!seen[0] || !seen[1] || !seen[2]) wrong("a key of descr, fortran_order and shape is missing");
  }

 private:
  [[noreturn]] void wrong(std::string_view why) const { fail<ValueError>("{}: not a .npy file: in its header {}", path_, why); }
  char peek() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool take_if(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void take(char c) {
    if (!take_if(c)) wrong(fmt::format("'{}' is missing", c));
  }
  std::string_view text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') wrong("a quoted word is missing");
    const size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) wrong("a quote is open");
    const std::string_view word = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return word;
  }
  static std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out)
      if (c < ' ' || c > '~') c = '?';
    return out;
  }
  DType dtype(bool& big_endian) {
    if (peek() != '\'' && peek() != '"') wrong("descr is a structure; only plain numbers are read");
    const std::string_view name = text();
    const DType d =
        name.size() > 1 && std::string_view("<>=|").find(name[0]) != name.npos ? dtype_of_numpy(name.substr(1)) : DType();
    big_endian = d && name[0] == '>' && d.itemsize() > 1;
    if (d) return d;
    if (name.ends_with('O')) wrong("descr is Python's objects, which are pickled; only plain numbers are read");
    wrong(fmt::format("descr '{}' is no dtype of Dyadic", printable(name.substr(0, 32))));
  }
  bool boolean_word() {
    peek();
    for (const bool value : {true, false})
      if (const std::string_view word = value ? "True" : "False"; rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    wrong("fortran_order is neither True nor False");
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    take('(');
    while (!take_if(')')) {
      int64_t n = 0;
      if (peek() < '0' || peek() > '9') wrong("a size of shape is no number");
      for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1))
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, rest_[0] - '0', &n)) wrong("a size is too large");
      sizes.push_back(n);
      if (sizes.size() > kMaxDims) wrong(fmt::format("there are more than {} dimensions", kMaxDims));
      if (!take_if(',') && peek() != ')') wrong("the sizes are not separated by commas");
    }
    return sizes;
  }
};

}  // namespace

DType dtype_of_numpy(std::string_view code) {
  for (auto& [name, d] : kTypes)
    if (name.substr(1) == code) return d;
  return {};
}

void swap_bytes(void* data, int64_t n, DType dtype) {
  const int64_t item = dtype.is_complex() ? dtype.itemsize() / 2 : dtype.itemsize();
  auto* p = static_cast<char*>(data);
  if (item > 1)
    for (int64_t i = 0; i < n * dtype.itemsize(); i += item) std::reverse(p + i, p + i + item);
}

NpyHeader parse_npy_header(const std::string& path, std::string_view bytes) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  DY_CHECK_AS(ValueError, bytes.size() >= 12 && bytes.starts_with(kNpyMagic), "{}: not a .npy file: it does not begin as one",
              path);
  const int version = p[6];
  DY_CHECK_AS(ValueError, version >= 1 && version <= 3, "{}: a .npy file of version {}; 1 to 3 are known", path, version);
  const int64_t begin = version == 1 ? 10 : 12;
  const int64_t length = version == 1 ? p[8] | p[9] << 8 : p[8] | p[9] << 8 | p[10] << 16 | int64_t(p[11]) << 24;
  DY_CHECK_AS(ValueError, length <= kMaxNpyHeader && begin + length <= int64_t(bytes.size()),
              "{}: not a .npy file: its header of {} bytes is cut or too long", path, length);
  NpyHeader h;
  h.size = begin + length;
  NpyParser(path, bytes.substr(size_t(begin), size_t(length))).read(h);
  return h;
}

std::string npy_header(DType dtype, IntList shape) {
  std::string_view descr;
  for (auto& [name, d] : kTypes)
    if (d == dtype) descr = name;
  DY_CHECK_AS(TypeError, !descr.empty(), "npy: numpy has no dtype for {}; convert it first", dtype.name());
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape.begin(), shape.end(), ", "), shape.size() == 1 ? "," : "");
  const size_t length = (10 + text.size() + 1 + 63) / 64 * 64 - 10;
  text.resize(length - 1, ' ');
  text += '\n';
  std::string out(kNpyMagic);
  out += {'\x01', '\x00', char(length & 255), char(length >> 8)};
  return out + text;
}

}  // namespace dyadic::inline v1::io
