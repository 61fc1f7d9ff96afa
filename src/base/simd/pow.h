// pow on vectors, with the special values of C99, annex F.9.4.4. f32 computes in double; f64 asks the C library lane by lane (a
// vector version needs the logarithm to 64 bits and more; pow in f64 is rare).
#pragma once
#include "base/simd/log.h"

namespace dyadic::DY_ISA {

namespace math {

DY_INLINE Vec<double> pow_positive(Vec<double> x, Vec<double> y) { return exp(clamp(y * log(x), -200, 200)); }

// Exponents that need no logarithm, the same in all lanes; false: another one. Squares are rounded once, as pow is.
template <class T> DY_INLINE bool simple_pow(Vec<T> x, Vec<T> y, Vec<T>& p) {
  if (all(y == 2)) return p = x * x, true;
  if (all(y == 1)) return p = x, true;
  if (all(y == 3)) return p = x * x * x, true;
  if (all(y == -1)) return p = Vec<T>(1) / x, true;
  if (all(y == -2)) return p = Vec<T>(1) / (x * x), true;
  if (all(y == 0.5f)) return p = select(x == -kInf, Vec<T>(kInf), sqrt(x) + 0), true;  // the root of -0 is +0
  return false;
}

DY_INLINE Vec<float> pow(Vec<float> x, Vec<float> y) {
  Vec<float> simple;
  if (simple_pow(x, y, simple)) return simple;
  Wide a = widen(abs(x)), b = widen(y);
  Vec<float> p = narrow(pow_positive(a.low, b.low), pow_positive(a.high, b.high));
  Mask<float> integral = floor(y) == y;  // infinities too: as even integers
  Vec<float> half = y * 0.5f;
  Mask<float> odd = integral & (floor(half) != half);
  p = select(odd, copysign(p, x), p);
  p = select(isfinite(x) & (x < 0) & !integral, kNaN, p);
  p = select((x == -1) & isinf(y), 1, p);
  return select((x == 1) | (y == 0), 1, p);  // even for NaN
}
DY_INLINE Vec<double> pow(Vec<double> x, Vec<double> y) {
  Vec<double> simple;
  if (simple_pow(x, y, simple)) return simple;
  constexpr size_t kLanes = Vec<double>::size();
  alignas(64) double a[kLanes], b[kLanes];
  x.store(a);
  y.store(b);
  for (size_t i = 0; i < kLanes; i++) a[i] = __builtin_pow(a[i], b[i]);
  return Vec<double>::load(a);
}

}  // namespace math

template <class T> DY_INLINE Vec<T> pow(Vec<T> x, Vec<T> y) { return math::pow(x, y); }
template <class T, Number S> DY_INLINE Vec<T> pow(Vec<T> x, S y) { return math::pow(x, Vec<T>(y)); }
template <class T, Number S> DY_INLINE Vec<T> pow(S x, Vec<T> y) { return math::pow(Vec<T>(x), y); }

}  // namespace dyadic::DY_ISA
