// Numbers as fraction and power of two: x = frexp_mantissa(x) 2^frexp_exponent(x), the fraction in [0.5, 1) and signed. Of
// zeros, infinities and NaN the fraction is the number and the exponent 0, as PyTorch and glibc have it.
#pragma once
#include "base/simd/exp.h"

namespace dyadic::DY_ISA {

namespace math {

// |x| within the normal numbers: subnormals are scaled up by kSmallScale bits first.
template <class T> inline constexpr int kSmallScale = kF32<T> ? 32 : 64;
template <class T> DY_INLINE Mask<T> is_small(Vec<T> x) { return abs(x) < (kF32<T> ? 0x1p-126 : 0x1p-1022); }
template <class T> DY_INLINE Mask<T> has_fraction(Vec<T> x) { return isfinite(x) & (x != 0); }
template <class T> DY_INLINE Vec<T> made_normal(Vec<T> x) { return select(is_small(x), x * (kF32<T> ? 0x1p32 : 0x1p64), x); }

}  // namespace math

template <class T> DY_INLINE Vec<T> frexp_mantissa(Vec<T> x) {
  const auto exponent = math::bits(Vec<T>(kInf));
  const auto fraction = hn::AndNot(exponent, math::bits(math::made_normal(x)));
  return select(math::has_fraction(x), math::from_bits<T>(hn::Or(fraction, math::bits(Vec<T>(0.5)))), x);
}
template <class T> DY_INLINE Vec<T> frexp_exponent(Vec<T> x) {
  constexpr int kBias = math::kF32<T> ? 126 : 1022;
  constexpr double kUnit = math::kF32<T> ? 0x1p23 : 0x1p52;  // an integer becomes a float as the low bits of 2^mantissa
  const auto biased = hn::ShiftRight<math::kMantissa<T>>(math::bits(abs(math::made_normal(x))));
  const Vec<T> e = math::from_bits<T>(hn::Or(biased, math::bits(Vec<T>(kUnit)))) - (kUnit + kBias);
  return select(math::has_fraction(x), e - select(math::is_small(x), math::kSmallScale<T>, 0), Vec<T>(0));
}

}  // namespace dyadic::DY_ISA
