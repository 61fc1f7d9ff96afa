// sin, cos, tan on vectors, and both at once for an angle in turns. Large angles are reduced in full by the C library, lane by
// lane: |x| > 2^18 (f32), 2^20 (f64) is rare, and what a lane gives depends on its value only.
#pragma once
#include "base/simd/exp.h"
#include "base/simd/lanewise.h"

namespace dyadic::DY_ISA {

namespace math {

template <class T> struct Angle {
  Vec<T> n, r, rest;  // x = n pi/2 + r + rest, |r| <= pi/4, rest below r's last bit
};
// pi/2 in parts of 33 bits, so that a product with n is exact: Cody and Waite (1980), section 8.
inline constexpr double kHalfPi1 = 0x1.921fb544p+0, kHalfPi2 = 0x1.0b4611a6p-34, kHalfPi3 = 0x1.3198a2e037073p-69;

DY_INLINE Angle<double> quarter(Vec<double> x) {
  Vec<double> n = round_near(x * 0.6366197723675814);
  Vec<double> a = x - n * kHalfPi1;
  Vec<double> b = n * kHalfPi2, c = a - b;
  Vec<double> lost = (a - c) - b;
  Vec<double> tail = n * kHalfPi3 - lost;
  Vec<double> r = c - tail;
  return {n, r, (c - r) - tail};
}
DY_INLINE Angle<float> quarter(Vec<float> x) {  // in double: r is right to its last bit
  Wide w = widen(x);
  auto reduce = [](Vec<double> v, Vec<double>& n) __attribute__((always_inline)) {
    n = round_near(v * 0.6366197723675814);
    return (v - n * kHalfPi1) - n * (kHalfPi2 + kHalfPi3);
  };
  Vec<double> n0, n1, r0 = reduce(w.low, n0), r1 = reduce(w.high, n1);
  return {narrow(n0, n1), narrow(r0, r1), 0};
}

// sin and cos on |r| <= pi/4. f32: 2^-27.9, 2^-33. f64: 2^-56.4, 2^-59.6; the rest enters to first order.
template <class T> DY_INLINE Vec<T> sin_near(Angle<T> a) {
  Vec<T> z = a.r * a.r, rz = a.r * z;
  if constexpr (kF32<T>) {
    return fma(rz, poly(z, -0.166666552, 0.00833218917, -0.000195182845), a.r);
  } else {
    Vec<T> p = poly(z, 0.008333333333322107822, -0.000198412698295804559, 2.75573136180876218e-6, -2.50507472257668838e-8,
                    1.589619792909964249e-10);
    Vec<T> low = z * (a.rest * 0.5 - rz * p) - a.rest;
    return a.r - (low - rz * -0.1666666666666662966);
  }
}
template <class T> DY_INLINE Vec<T> cos_near(Angle<T> a) {
  Vec<T> z = a.r * a.r, half = z * 0.5, w = 1 - half;
  if constexpr (kF32<T>) {
    return fma(z * z, poly(z, 0.0416666456, -0.00138873095, 2.44323273e-5), w);
  } else {
    Vec<T> p = poly(z, 0.04166666666666659496, -0.001388888888887304055, 0.00002480158728884139033, -2.755731417623525595e-7,
                    2.087570041526623685e-9, -1.135851390324466125e-11);
    return w + (((1 - w) - half) + (z * z * p - a.r * a.rest));
  }
}
template <class T> DY_INLINE Mask<T> is_odd(Vec<T> n) {  // of an integral n
  n = n * 0.5;
  return n != floor(n);
}

template <class T> inline constexpr double kAngleLimit = kF32<T> ? 0x1p18 : 0x1p20;
// F on the lanes beyond the limit, y on the others.
template <class T, class F> DY_INLINE Vec<T> beyond_limit(Vec<T> x, Vec<T> y, F f) {
  return patch(abs(x) > kAngleLimit<T>, y, x, f);
}
template <class T> struct SinCos {
  Vec<T> sin, cos;
};
template <class T> DY_INLINE SinCos<T> sincos_core(Angle<T> a) {
  Vec<T> s = sin_near(a), c = cos_near(a);
  Mask<T> swap = is_odd(a.n);
  Mask<T> minus_sin = is_odd(floor(a.n * 0.5)), minus_cos = is_odd(floor(a.n * 0.5 + 0.5));
  Vec<T> sine = select(swap, c, s), cosine = select(swap, s, c);
  return {select(minus_sin, -sine, sine), select(minus_cos, -cosine, cosine)};
}

}  // namespace math

template <class T> DY_INLINE Vec<T> sin(Vec<T> x) {
  Vec<T> y = math::sincos_core(math::quarter(x)).sin;
  y = select(abs(x) < math::kTiny<T>, x, y);
  return math::beyond_limit(x, y, [](double v) { return __builtin_sin(v); });
}
template <class T> DY_INLINE Vec<T> cos(Vec<T> x) {
  return math::beyond_limit(x, math::sincos_core(math::quarter(x)).cos, [](double v) { return __builtin_cos(v); });
}
template <class T> DY_INLINE Vec<T> tan(Vec<T> x) {
  math::Angle<T> a = math::quarter(x);
  Vec<T> s = math::sin_near(a), c = math::cos_near(a);
  Mask<T> odd = math::is_odd(a.n);
  Vec<T> y = select(odd, -c, s) / select(odd, s, c);
  y = select(abs(x) < math::kTiny<T>, x, y);
  return math::beyond_limit(x, y, [](double v) { return __builtin_tan(v); });
}

// sin and cos of 2 pi u for finite |u| < 2^20: no reduction error at all.
template <class T> DY_INLINE math::SinCos<T> sincos_turns(Vec<T> u) {
  Vec<T> quarters = u * 4, n = math::round_near(quarters);
  return math::sincos_core(math::Angle<T>{n, (quarters - n) * 1.5707963267948966, 0});
}

}  // namespace dyadic::DY_ISA
