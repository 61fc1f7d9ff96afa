// log and its family on vectors: log, log1p, log2. log(0) is -inf, log of a negative number NaN; subnormals are exact to the
// last bits.
#pragma once
#include "base/simd/exp.h"

namespace dyadic::DY_ISA {

namespace math {

inline constexpr double kLn2 = 0.6931471805599453;

template <class T> struct Split {
  Vec<T> f, e;  // x = (1 + f) 2^e, f in [-0.25, 0.5)
};
// For x > 0. Otherwise: with AVX-512 e is -inf for zero and f NaN for negative x, e inf for inf; elsewhere anything (see
// repair).
template <class T> DY_INLINE Split<T> split(Vec<T> x) {
#if DY_AVX512
  if constexpr (kF32<T>) {
    __m512 m = _mm512_getmant_ps(x.v.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    __m512 e = _mm512_sub_ps(_mm512_getexp_ps(x.v.raw), _mm512_getexp_ps(m));
    return {Vec<T>(hwy::N_AVX3::Vec512<T>{m}) - 1, hwy::N_AVX3::Vec512<T>{e}};
  } else {
    __m512d m = _mm512_getmant_pd(x.v.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    __m512d e = _mm512_sub_pd(_mm512_getexp_pd(x.v.raw), _mm512_getexp_pd(m));
    return {Vec<T>(hwy::N_AVX3::Vec512<T>{m}) - 1, hwy::N_AVX3::Vec512<T>{e}};
  }
#else
  using U = hn::RebindToUnsigned<hn::ScalableTag<T>>;
  constexpr U du;
  constexpr int kBias = kF32<T> ? 127 : 1023;
  Mask<T> small = x < (kF32<T> ? 0x1p-126 : 0x1p-1022);
  x = select(small, x * (kF32<T> ? 0x1p23 : 0x1p52), x);
  auto one = bits(Vec<T>(1)), u = bits(x);
  auto t = hn::ShiftRight<kMantissa<T>>(hn::Add(u, hn::Sub(one, bits(Vec<T>(0.75)))));  // exponent, one more from 1.5 on
  // The exponent becomes a float as the low bits of 2^mantissa.
  Vec<T> e = from_bits<T>(hn::Or(t, bits(Vec<T>(kF32<T> ? 0x1p23 : 0x1p52)))) -
             select(small, (kF32<T> ? 0x1p23 : 0x1p52) + kBias + kMantissa<T>, (kF32<T> ? 0x1p23 : 0x1p52) + kBias);
  auto m = hn::Sub(u, hn::ShiftLeft<kMantissa<T>>(hn::Sub(t, hn::Set(du, kBias))));
  return {from_bits<T>(m) - 1, e};
#endif
}
// What the polynomials can't say: log of 0, negative numbers, inf and NaN.
template <class T> DY_INLINE Vec<T> repair(Vec<T> x, Vec<T> y) {
#if !DY_AVX512
  y = select(x < kInf, y, x);
  y = select(x <= 0, select(x == 0, -kInf, kNaN), y);
#endif
  return y;
}
// log(1 + f) = f - tail(f) on [-0.25, 0.5]; `add` goes into the sum where it loses nothing.
// f32: a cubic times a degree 7 fit, 2^-26.6. f64: in s = f / (2 + f), as in the fdlibm of Sun Microsystems (1993), with an own
// fit over this interval, 2^-61.
template <class T> DY_INLINE Vec<T> log_tail(Vec<T> f, Vec<T> add) {
  if constexpr (kF32<T>) {
    Vec<T> p =
        poly(f, 0.333334506, -0.250000954, 0.199908614, -0.16647312, 0.144783959, -0.131611958, 0.104630269, -0.0450748205);
    Vec<T> f2 = f * f;
    return fma(f2, Vec<T>(0.5), -fma(p * f, f2, add));
  } else {
    Vec<T> s = f / (f + 2), z = s * s, half = f * f * 0.5;
    Vec<T> p = z * poly(z, 0.6666666666666659635, 0.4000000000005634604, 0.2857142855591197628, 0.2222222428681194517,
                        0.1818166646048848811, 0.1539109273906111575, 0.1317392314340878334, 0.1384084457653671774);
    return half - fma(s, half + p, add);
  }
}
template <class T> DY_INLINE Vec<T> log_unrepaired(Vec<T> x) {
  Split<T> y = split(x);
  constexpr double kHigh = kF32<T> ? 0x1.62e4p-1 : 0x1.62e42feep-1,
                   kLow = kF32<T> ? 0x1.7f7d1cf79abcap-20 : 0x1.a39ef35793c76p-33;
  return fma(y.e, Vec<T>(kHigh), y.f - log_tail(y.f, y.e * kLow));
}

}  // namespace math

template <class T> DY_INLINE Vec<T> log(Vec<T> x) { return math::repair(x, math::log_unrepaired(x)); }

template <class T> DY_INLINE Vec<T> log2(Vec<T> x) {  // exact for powers of two
  math::Split<T> y = math::split(x);
  return math::repair(x, fma(y.f - math::log_tail(y.f, Vec<T>(0)), Vec<T>(1.4426950408889634), y.e));
}

template <class T> DY_INLINE Vec<T> log1p(Vec<T> x) {
  Vec<T> u = x + 1;
  Vec<T> lost = x - (u - 1);  // what the addition rounded away
  Vec<T> y = log(u);
  y = select((u > 0) & (u < kInf), y + lost / u, y);
  return select(abs(x) < math::kTiny<T>, x, y);
}

}  // namespace dyadic::DY_ISA
