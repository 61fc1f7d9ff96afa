// Tensors from numbers of C++ and from memory.
#pragma once
#include <type_traits>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// A number, or numbers in braces, nested as deep as the tensor has dimensions. Borrowed for the call.
class Numbers {
  Scalar number_ = 0;
  std::initializer_list<Numbers> list_{};
  bool is_list_ = false;

 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || requires(const T& c) { double(c.real()) + double(c.imag()); })
  Numbers(const T& v) : number_(v) {}
  Numbers(Scalar v) : number_(v) {}
  Numbers(std::initializer_list<Numbers> list) : list_(list), is_list_(true) {}
  bool is_list() const { return is_list_; }
  Scalar number() const { return number_; }
  std::initializer_list<Numbers> list() const { return list_; }
};
// tensor({{1., 2.}, {3., 4.}}), tensor(5), tensor(a vector). The dtype follows the numbers: bool, int64, or the default dtype,
// complex where one number is.
Tensor tensor(Numbers values, DType dtype = {});
Tensor from_data(const void* data, IntList size, DType dtype);  // copies dense row-major elements of a plain dtype
// The same over memory of the caller's, who keeps it for as long as the tensor lives.
Tensor from_blob(void* data, IntList size, DType dtype = f32);
template <class T> constexpr DType dtype_for() {  // of numbers of C++
  if (std::is_same_v<T, bool>) return boolean;
  if constexpr (requires(const T& c) { c.real() + c.imag(); }) return sizeof(T) == 8 ? c64 : c128;
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? f32 : f64;
  if (std::is_signed_v<T>) return sizeof(T) == 8 ? i64 : sizeof(T) == 4 ? i32 : sizeof(T) == 2 ? i16 : i8;
  return sizeof(T) == 8 ? u64 : sizeof(T) == 4 ? u32 : sizeof(T) == 2 ? u16 : u8;
}
Tensor tensor_from(const void* data, size_t n, DType elements, DType dtype);
template <std::same_as<std::vector<bool>> R> Tensor tensor(const R& values, DType dtype = {}) {
  const std::vector<uint8_t> bytes(values.begin(), values.end());
  return tensor_from(bytes.data(), bytes.size(), boolean, dtype);
}
template <class R>  // a vector, an array, a span
  requires requires(const R& r) {
    *std::data(r) + 0;
    std::size(r);
  }
Tensor tensor(const R& values, DType dtype = {}) {
  using T = std::remove_cvref_t<decltype(*std::data(values))>;
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, long double>, "tensor: elements are numbers of C++");
  return tensor_from(std::data(values), std::size(values), dtype_for<T>(), dtype);
}

}  // namespace dyadic::inline v1
