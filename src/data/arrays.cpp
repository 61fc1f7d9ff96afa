// Arrays in binary files: IDX (LeCun, Cortes, Burges: the MNIST database) and npy (NumPy's format, versions 1 to 3).
#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "data/file.h"
#include "dyadic/data_files.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {
namespace {

static_assert(std::endian::native == std::endian::little);

void swap_bytes(void* data, int64_t n, int64_t item) {
  auto* p = static_cast<char*>(data);
  if (item > 1)
    for (int64_t i = 0; i < n; ++i) std::reverse(p + i * item, p + (i + 1) * item);
}

// An array of the sizes that a header claims: read piece by piece, so that a wrong claim costs no memory beyond the file's.
Tensor read_elements(InputFile& file, const std::vector<int64_t>& sizes, DType dtype) {
  int64_t bytes = dtype.itemsize();
  for (int64_t n : sizes)
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) file.damaged("the header's sizes are impossible");
  const std::string data = file.rest();
  if (int64_t(data.size()) != bytes)
    file.damaged(fmt::format("{} of {} needs {} bytes, there are {}", shape_text(sizes), dtype.name(), bytes, data.size()));
  return from_data(data.data(), sizes, dtype);
}

struct NpyHeader {
  DType dtype;
  bool fortran = false, swapped = false;
  std::vector<int64_t> sizes;
  int64_t offset = 0;
};

DType npy_dtype(const InputFile& file, std::string_view code) {
  static constexpr std::pair<const char*, DType (*)()> kCodes[] = {
      {"b1", [] { return boolean; }}, {"i1", [] { return i8; }},   {"i2", [] { return i16; }}, {"i4", [] { return i32; }},
      {"i8", [] { return i64; }},     {"u1", [] { return u8; }},   {"u2", [] { return u16; }}, {"u4", [] { return u32; }},
      {"u8", [] { return u64; }},     {"f2", [] { return f16; }},  {"f4", [] { return f32; }}, {"f8", [] { return f64; }},
      {"c8", [] { return c64; }},     {"c16", [] { return c128; }}};
  for (auto& [name, dtype] : kCodes)
    if (code == name) return dtype();
  file.damaged(fmt::format("no dtype for elements of \"{}\"", code));
}

std::string_view value_of(const InputFile& file, std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) file.damaged(fmt::format("the header has no '{}'", key));
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

NpyHeader read_npy_header(InputFile& file) {
  unsigned char head[12];
  if (file.read(head, 10) < 10 || std::memcmp(head, "\x93NUMPY", 6) != 0) file.damaged("it is no npy file");
  size_t length = size_t(head[8]) | size_t(head[9]) << 8;
  int64_t prefix = 10;
  if (head[6] >= 2) {
    if (file.read(head + 10, 2) < 2) file.damaged("it ends too early");
    length |= size_t(head[10]) << 16 | size_t(head[11]) << 24;
    prefix = 12;
  }
  if (head[6] < 1 || head[6] > 3 || length > 1 << 20) file.damaged("its header is not one of versions 1 to 3");
  std::string text(length, ' ');
  if (file.read(text.data(), length) < length) file.damaged("it ends too early");
  NpyHeader h;
  h.offset = prefix + int64_t(length);
  const std::string_view descr = value_of(file, text, "descr");
  if (!descr.starts_with('\'')) file.damaged("records have no dtype; save their columns one by one");
  std::string_view code = descr.substr(1, descr.substr(1).find('\''));
  h.swapped = code.starts_with('>');
  if (code.starts_with('<') || code.starts_with('|') || code.starts_with('=') || h.swapped) code.remove_prefix(1);
  h.dtype = npy_dtype(file, code);
  h.fortran = value_of(file, text, "fortran_order").starts_with("True");
  std::string_view shape = value_of(file, text, "shape");
  shape = shape.substr(0, shape.find(')'));
  for (size_t at = 0; (at = shape.find_first_of("0123456789", at)) != std::string_view::npos;) {
    int64_t n = 0;
    for (; at < shape.size() && shape[at] >= '0' && shape[at] <= '9'; ++at)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, shape[at] - '0', &n))
        file.damaged("its shape is impossible");
    h.sizes.push_back(n);
  }
  if (h.sizes.size() > kMaxDims) file.damaged(fmt::format("it has {} dimensions; at most {}", h.sizes.size(), kMaxDims));
  if (h.fortran) std::reverse(h.sizes.begin(), h.sizes.end());
  return h;
}

Tensor turned(Tensor t, bool fortran) {  // Fortran's order is that of the transposed array
  if (!fortran || t.dim() < 2) return t;
  std::vector<int64_t> dims;
  for (int64_t d = t.dim(); d-- > 0;) dims.push_back(d);
  return permute(t, dims);
}

}  // namespace

Tensor read_idx(const std::string& path) {
  InputFile file("read_idx", path);
  unsigned char head[4];
  if (file.read(head, 4) < 4 || head[0] || head[1]) file.damaged("it is no IDX file");
  static const std::pair<int, DType> kTypes[] = {{8, u8}, {9, i8}, {11, i16}, {12, i32}, {13, f32}, {14, f64}};
  DType dtype;
  for (auto& [code, d] : kTypes)
    if (head[2] == code) dtype = d;
  if (!dtype) file.damaged(fmt::format("no dtype for elements of code {}", head[2]));
  if (head[3] > kMaxDims) file.damaged(fmt::format("it has {} dimensions; at most {}", head[3], kMaxDims));
  std::vector<int64_t> sizes;
  for (int d = 0; d < head[3]; ++d) {
    unsigned char n[4];
    if (file.read(n, 4) < 4) file.damaged("it ends too early");
    sizes.push_back(int64_t(n[0]) << 24 | n[1] << 16 | n[2] << 8 | n[3]);
  }
  Tensor t = read_elements(file, sizes, dtype);
  if (t.numel()) swap_bytes(t.data_ptr(), t.numel(), dtype.itemsize());
  return t;
}

Tensor load_npy(const std::string& path) {
  InputFile file("load_npy", path);
  const NpyHeader h = read_npy_header(file);
  Tensor t = read_elements(file, h.sizes, h.dtype);
  const int64_t parts = h.dtype.is_complex() ? 2 : 1;
  if (h.swapped && t.numel()) swap_bytes(t.data_ptr(), t.numel() * parts, h.dtype.itemsize() / parts);
  return turned(t, h.fortran).contiguous();
}

Tensor map_npy(const std::string& path) {
  InputFile file("map_npy", path);
  const NpyHeader h = read_npy_header(file);
  if (h.swapped) file.damaged("its numbers are big-endian, which cannot be mapped; use load_npy");
  if (h.sizes.empty()) return load_npy(path);
  return turned(map_file(path, h.dtype, h.sizes, h.offset), h.fortran);
}

void save_npy(const std::string& path, const Tensor& t) {
  static const std::pair<DType, const char*> kNames[] = {
      {boolean, "|b1"}, {i8, "|i1"},  {i16, "<i2"}, {i32, "<i4"}, {i64, "<i8"}, {u8, "|u1"},  {u16, "<u2"},
      {u32, "<u4"},     {u64, "<u8"}, {f16, "<f2"}, {f32, "<f4"}, {f64, "<f8"}, {c64, "<c8"}, {c128, "<c16"}};
  const char* name = nullptr;
  for (auto& [d, n] : kNames)
    if (d == t.dtype()) name = n;
  DY_CHECK_AS(TypeError, name, "save_npy: npy has no {}; convert it first, or save it as safetensors", t.dtype().name());
  std::string shape;
  for (int64_t n : t.sizes()) shape += fmt::format("{}, ", n);
  if (t.dim() > 1) shape.resize(shape.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", name,
                                   t.dim() == 1 ? shape.substr(0, shape.size() - 1) : shape);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const Tensor dense = t.detach().contiguous();
  std::ofstream out(path, std::ios::binary);
  const char head[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 255), char(header.size() >> 8)};
  out.write(head, 10);
  out << header;
  if (t.numel()) out.write(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
  out.flush();
  DY_CHECK(out.good(), "save_npy: {} cannot be written: {}", path, strerror(errno));
}

}  // namespace dyadic::inline v1::data
