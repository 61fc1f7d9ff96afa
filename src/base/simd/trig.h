// sin, cos, tan on vectors, and both at once for an angle in turns. Large angles are reduced in full by the C library, lane by
// lane: |x| > 2^18 (f32), 2^20 (f64) is rare, and what a lane gives depends on its value only.
#pragma once
#include "base/simd/exp.h"
#include "base/simd/lanewise.h"

namespace dyadic::DY_ISA {

namespace math {

template <class T> using Bits = decltype(bits(Vec<T>()));
// x = (n + shift) period + r + rest, |r| <= period / 2, rest below r's last bit; n's low bits count.
template <class T> struct Angle {
  Bits<T> n;
  Vec<T> r, rest;
};
// pi/2 in parts of 33 bits, so that a product with n is exact: Cody and Waite (1980), section 8.
inline constexpr double kHalfPi1 = 0x1.921fb544p+0, kHalfPi2 = 0x1.0b4611a6p-34, kHalfPi3 = 0x1.3198a2e037073p-69;

// The integer nearest to x / (kQuarters pi/2) - kHalf / 2, plus kHalf / 2; m's low bits are the integer's.
template <int kQuarters, int kHalf, class T> DY_INLINE Vec<T> turns(Vec<T> x, Vec<T>& m) {
  constexpr double kInverse = 0.6366197723675814 / kQuarters;
  m = kHalf ? fma(x, Vec<T>(kInverse), Vec<T>(-0.5)) + kRounder<T> : fma(x, Vec<T>(kInverse), Vec<T>(kRounder<T>));
  return kHalf ? m - kRounder<T> + 0.5 : m - kRounder<T>;
}
// Periods of kQuarters pi/2. With fused multiply-adds the first difference is exact and the next ones are rounded once.
template <int kQuarters, int kHalf = 0> DY_INLINE Angle<double> reduce_angle(Vec<double> x) {
  Vec<double> m, n = turns<kQuarters, kHalf>(x, m);
#if DY_FMA
  const Vec<double> low = kQuarters * 0x1.1a62633145c07p-54;
  Vec<double> a = fnma(n, Vec<double>(kQuarters * 0x1.921fb54442d18p+0), x), p = n * low, r = a - p;
  Vec<double> rest = ((a - r) - p) + fnma(n, low, p);
  return {bits(m), r, fma(n, Vec<double>(kQuarters * 0x1.f1976b7ed8fbcp-110), rest)};
#else
  Vec<double> a = x - n * (kQuarters * kHalfPi1), b = n * (kQuarters * kHalfPi2), c = a - b;
  Vec<double> tail = n * (kQuarters * kHalfPi3) - ((a - c) - b);
  Vec<double> r = c - tail;
  return {bits(m), r, (c - r) - tail};
#endif
}
template <int kQuarters, int kHalf = 0> DY_INLINE Angle<float> reduce_angle(Vec<float> x) {
#if DY_FMA
  Vec<float> m, n = turns<kQuarters, kHalf>(x, m);
  Vec<float> r = fnma(n, Vec<float>(kQuarters * 0x1.921fb6p+0), x);
  r = fma(n, Vec<float>(kQuarters * 0x1.777a5cp-25), r);
  return {bits(m), fma(n, Vec<float>(kQuarters * 0x1.ee59dap-50), r), 0};
#else
  auto reduce = [](Vec<double> v, Vec<double>& whole) __attribute__((always_inline)) {
    Vec<double> m, n = turns<kQuarters, kHalf>(v, m);
    whole = m - kRounder<double>;
    return (v - n * (kQuarters * kHalfPi1)) - n * (kQuarters * (kHalfPi2 + kHalfPi3));
  };
  Wide w = widen(x);
  Vec<double> n0, n1, r0 = reduce(w.low, n0), r1 = reduce(w.high, n1);
  return {bits(narrow(n0, n1) + kRounder<float>), narrow(r0, r1), 0};
#endif
}
// y, minus y where n is odd (kBit 0) or n's next bit is set (kBit 1).
template <int kBit, class T> DY_INLINE Vec<T> flip(Bits<T> n, Vec<T> y) {
  return hn::Xor(y.v, hn::And(hn::BitCast(Vec<T>::d, hn::ShiftLeft<8 * sizeof(T) - 1 - kBit>(n)), hn::SignBit(Vec<T>::d)));
}
template <class T> DY_INLINE Mask<T> is_odd(Bits<T> n) {
  constexpr hn::RebindToUnsigned<hn::ScalableTag<T>> d;
  return hn::RebindMask(Vec<T>::d, hn::TestBit(n, hn::Set(d, 1)));
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
// sin on |r| <= pi/2, 2^-27.3; not beyond 1.
DY_INLINE Vec<float> sin_half_turn(Vec<float> r) {
  Vec<float> z = r * r;
  return clamp(fma(r * z, poly(z, -0.166666595, 0.00833306618, -0.000198095969, 2.60576584e-6), r), -1, 1);
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
  Mask<T> swap = is_odd<T>(a.n);
  constexpr hn::RebindToUnsigned<hn::ScalableTag<T>> d;
  return {flip<1>(a.n, select(swap, c, s)), flip<1>(Bits<T>(hn::Add(a.n, hn::Set(d, 1))), select(swap, s, c))};
}

}  // namespace math

template <class T> DY_INLINE Vec<T> sin(Vec<T> x) {
  using namespace math;
  Vec<T> y;
  if constexpr (kF32<T>) {
    Angle<T> a = reduce_angle<2>(x);
    y = flip<0>(a.n, sin_half_turn(a.r));
  } else {
    y = sincos_core(reduce_angle<1>(x)).sin;
  }
  y = select(abs(x) < kTiny<T>, x, y);
  return beyond_limit(x, y, [](double v) { return __builtin_sin(v); });
}
template <class T> DY_INLINE Vec<T> cos(Vec<T> x) {
  using namespace math;
  Vec<T> y;
  if constexpr (kF32<T>) {
    Angle<T> a = reduce_angle<2, 1>(x);
    y = -flip<0>(a.n, sin_half_turn(a.r));
  } else {
    y = sincos_core(reduce_angle<1>(x)).cos;
  }
  return beyond_limit(x, y, [](double v) { return __builtin_cos(v); });
}
DY_INLINE Vec<double> tan(Vec<double> x) {
  using namespace math;
  Angle<double> a = reduce_angle<1>(x);
  Vec<double> s = sin_near(a), c = cos_near(a);
  Mask<double> odd = is_odd<double>(a.n);
  Vec<double> y = flip<0>(a.n, select(odd, c, s) / select(odd, s, c));
  y = select(abs(x) < kTiny<double>, x, y);
  return beyond_limit(x, y, [](double v) { return __builtin_tan(v); });
}
// In double: near pi/2 an angle's error grows with the square of the tangent.
DY_INLINE Vec<float> tan(Vec<float> x) {
  using namespace math;
  auto quotient_of = [](Vec<double> v) __attribute__((always_inline)) {  // 2^-35.2
    Angle<double> a = reduce_angle<1>(v);
    Vec<double> z = a.r * a.r;
    Vec<double> s = a.r * poly(z, 1, -0.11135524623497402, 0.001074725045360856);
    Vec<double> c = poly(z, 1, -0.44468857837653086, 0.01597090044350722);
    Mask<double> odd = is_odd<double>(a.n);
    return flip<0>(a.n, quotient(select(odd, c, s), select(odd, s, c)));
  };
  Wide w = widen(x);
  Vec<float> y = narrow(quotient_of(w.low), quotient_of(w.high));
  y = select(abs(x) < kTiny<float>, x, y);
  return beyond_limit(x, y, [](double v) { return __builtin_tan(v); });
}

// sin and cos of 2 pi u for finite |u| < 2^20: no reduction error at all.
template <class T> DY_INLINE math::SinCos<T> sincos_turns(Vec<T> u) {
  using namespace math;
  Vec<T> quarters = u * 4, m = quarters + kRounder<T>;
  return sincos_core(Angle<T>{bits(m), (quarters - (m - kRounder<T>)) * 1.5707963267948966, 0});
}

}  // namespace dyadic::DY_ISA
