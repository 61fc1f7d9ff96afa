// Real and complex numbers alike, for the kernels of linear algebra. Only for files that are compiled per instruction set.
#pragma once
#include "base/simd/simd.h"
#include "ops/linalg/lapack.h"

namespace dyadic::DY_ISA {
namespace {

using lapack::Real;
template <class T> inline constexpr int64_t kParts = sizeof(T) / sizeof(Real<T>);
template <class T> inline constexpr bool kComplex = lapack::is_complex<T>;

template <class T> T conjugate(T x, bool yes) {
  if constexpr (kComplex<T>) return yes ? T(x.real(), -x.imag()) : x;
  return x;
}
template <class T> T times(T a, T b) {  // std::complex's operator looks for infinities in NaN: a call per product
  if constexpr (kComplex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

// x / y as divide(x, divisor(y)): complex numbers are multiplied by the reciprocal.
template <class T> T divisor(T x) {
  if constexpr (kComplex<T>) {
    const Real<T> re = x.real(), im = x.imag();
    if ((re < 0 ? -re : re) >= (im < 0 ? -im : im)) {  // Smith 1962: no square that might overflow
      const Real<T> r = im / re, d = re + im * r;
      return {1 / d, -r / d};
    }
    const Real<T> r = re / im, d = re * r + im;
    return {r / d, -1 / d};
  }
  return x;
}
template <class T> T divide(T x, T by) {
  if constexpr (kComplex<T>)
    return times(x, by);
  else
    return x / by;
}

template <class T> Real<T> size_of(T x) {  // LAPACK's: the sum of the parts' for complex numbers
  if constexpr (kComplex<T>)
    return size_of(x.real()) + size_of(x.imag());
  else
    return x < 0 ? -x : x;
}

}  // namespace
}  // namespace dyadic::DY_ISA
