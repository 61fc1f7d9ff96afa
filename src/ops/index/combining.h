// What one element of an indexed place becomes with another; for kernels compiled per instruction set.
#pragma once
#include "base/simd/simd.h"
#include "ops/index/indexed_kernel.h"

namespace dyadic::DY_ISA {

template <class T, bool Real = std::is_floating_point_v<T>> struct Bits {
  using U = std::make_unsigned_t<T>;
};
template <class T> struct Bits<T, true> {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
};
// Without a branch, which random values would take wrong.
template <class T> DY_INLINE T chosen(bool first, T a, T b) {
  using U = typename Bits<T>::U;
  const U mask = U(0) - U(first);
  return __builtin_bit_cast(T, U((__builtin_bit_cast(U, a) & mask) | (__builtin_bit_cast(U, b) & ~mask)));
}

template <class T> using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T, typename Bits<T>::U>;
template <class T> struct Sum {  // integers wrap
  DY_INLINE static T of(T a, T b) { return T(Wrapping<T>(a) + Wrapping<T>(b)); }
};
template <class T> struct Product {
  DY_INLINE static T of(T a, T b) { return T(Wrapping<T>(a) * Wrapping<T>(b)); }
};
template <class T> struct Smallest {
  DY_INLINE static T of(T a, T b) { return chosen((b < a) | (b != b), b, a); }
};
template <class T> struct Largest {
  DY_INLINE static T of(T a, T b) { return chosen((b > a) | (b != b), b, a); }
};

template <template <class> class F> struct Function {};
template <class Body> DY_INLINE void with_function(IndexedOp op, Body&& body) {
  switch (op) {
    case IndexedOp::add:
      return body(Function<Sum>());
    case IndexedOp::mul:
      return body(Function<Product>());
    case IndexedOp::min:
      return body(Function<Smallest>());
    default:
      return body(Function<Largest>());
  }
}
template <class T> struct Type {};
template <class Body> DY_INLINE void with_type(Compute compute, Body&& body) {
  switch (compute) {
    case Compute::f32:
      return body(Type<float>());
    case Compute::f64:
      return body(Type<double>());
    case Compute::i32:
      return body(Type<int32_t>());
    case Compute::u64:
      return body(Type<uint64_t>());
    default:
      return body(Type<int64_t>());
  }
}

}  // namespace dyadic::DY_ISA
