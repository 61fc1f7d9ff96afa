// Arrays in binary files: IDX (LeCun, Cortes, Burges: the MNIST database), and numpy's npy read whole.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "data/file.h"
#include "dyadic/data_files.h"
#include "dyadic/numpy_file.h"
#include "io/npy.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {
namespace {

static_assert(std::endian::native == std::endian::little);

// may_go_on: bytes behind the elements are nobody's affair, as to numpy and to memmap.
Tensor array(const InputFile& file, std::string_view data, const std::vector<int64_t>& sizes, DType dtype, bool may_go_on) {
  int64_t bytes = dtype.itemsize();
  for (int64_t n : sizes)
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) file.damaged("the header's sizes are impossible");
  if (int64_t(data.size()) < bytes || (int64_t(data.size()) > bytes && !may_go_on))
    file.damaged(fmt::format("{} of {} needs {} bytes, there are {}", shape_text(sizes), dtype.name(), bytes, data.size()));
  return from_data(data.data(), sizes, dtype);
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
  Tensor t = array(file, file.rest(), sizes, dtype, false);
  if (t.numel()) io::swap_bytes(t.data_ptr(), t.numel(), dtype);
  return t;
}

Tensor load_npy(const std::string& path) {
  InputFile file("load_npy", path);
  const std::string bytes = file.rest();
  io::NpyHeader h = io::parse_npy_header(path, bytes);
  if (h.fortran_order) std::reverse(h.shape.begin(), h.shape.end());
  const Tensor t = array(file, std::string_view(bytes).substr(size_t(h.size)), h.shape, h.dtype, true);
  if (h.big_endian && t.numel()) io::swap_bytes(t.data_ptr(), t.numel(), h.dtype);
  return turned(t, h.fortran_order).contiguous();
}

void save_npy(const std::string& path, const Tensor& t) { io::save_npy(path, t); }

}  // namespace dyadic::inline v1::data
