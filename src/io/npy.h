// The header of numpy's .npy files (numpy.lib.format, versions 1 to 3).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/numpy_file.h"
#include "dyadic/tensor_file.h"

namespace dyadic::inline v1::io {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";  // what a file begins with

struct NpyHeader {
  DType dtype;
  bool fortran_order = false;
  bool big_endian = false;
  std::vector<int64_t> shape;
  int64_t size = 0;  // bytes before the first element
};
// From the first bytes of a file. Trusts nothing: ValueError "<path>: ..." for what is no such header, and for dtypes that are
// none of ours (structures, objects).
NpyHeader parse_npy_header(const std::string& path, std::string_view bytes);
std::string npy_header(DType dtype, IntList shape);                                          // a multiple of 64 bytes
void write_npz(const std::string& path, const TensorFile& source, NpzOptions options = {});  // a tensor at a time
DType dtype_of_numpy(std::string_view code);          // "f8", without a byte order; undefined: none of ours
void swap_bytes(void* data, int64_t n, DType dtype);  // of n elements; complex numbers part by part

}  // namespace dyadic::inline v1::io
