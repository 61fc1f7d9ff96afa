// pow on vectors, with the special values of C99, annex F.9.4.4. f32 computes in double; f64 takes the logarithm to 64
// bits, and without fused multiply-adds, which this needs, asks the C library lane by lane.
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

// p = |x|^y with the sign and the special values of pow.
template <class T> DY_INLINE Vec<T> pow_of(Vec<T> x, Vec<T> y, Vec<T> p) {
  Mask<T> integral = floor(y) == y;  // infinities too: as even integers
  Vec<T> half = y * 0.5f;
  Mask<T> odd = integral & (floor(half) != half);
  p = select(odd, copysign(p, x), p);
  p = select(isfinite(x) & (x < 0) & !integral, kNaN, p);
  p = select((x == -1) & isinf(y), 1, p);
  return select((x == 1) | (y == 0), 1, p);  // even for NaN
}
DY_INLINE Vec<float> pow(Vec<float> x, Vec<float> y) {
  Vec<float> simple;
  if (simple_pow(x, y, simple)) return simple;
  Wide a = widen(abs(x)), b = widen(y);
  return pow_of(x, y, narrow(pow_positive(a.low, b.low), pow_positive(a.high, b.high)));
}

#if DY_FMA
template <class T> struct Double {  // high + low: twice the digits
  Vec<T> high, low;
};
DY_INLINE Double<double> product(Vec<double> a, Vec<double> b) {
  Vec<double> p = a * b;
  return {p, hn::MulSub(a.v, b.v, p.v)};
}
DY_INLINE Double<double> sum(Vec<double> large, Vec<double> small) {
  Vec<double> s = large + small;
  return {s, (large - s) + small};
}
// log(x) to 2^-66 of it, x > 0 finite: 2 s + s z (2/3 + z Q(z)), s = f / (2 + f), z = s^2; Q, of which the first term is 2/5,
// to 2^-54.
DY_INLINE Double<double> log_double(Vec<double> x) {
  Split<double> u = split(x);
  Double<double> d = sum(2, u.f);
  Vec<double> inverse = 1 / d.high, s = u.f * inverse;
  Vec<double> s_low = (fnma(s, d.high, u.f) - s * d.low) * inverse;
  Double<double> z = product(s, s);
  z.low = fma(s + s, s_low, z.low);
  Double<double> q = sum(0.4, z.high * poly(z.high, 0.28571428571435789, 0.22222222218450937, 0.18181818931615189,
                                            0.15384542311079747, 0.13337188943652268, 0.1165266950880843, 0.12196821180753781));
  Double<double> p = product(z.high, q.high);
  p.low += fma(z.high, q.low - 0x1.999999999999ap-56, z.low * q.high);
  Double<double> a = sum(2 / 3., p.high), b = product(z.high, a.high);
  b.low += fma(z.high, a.low + (p.low + 0x1.5555555555555p-55), z.low * a.high);
  Double<double> c = product(s, b.high);
  c.low += fma(s, b.low, s_low * b.high);
  Double<double> f = sum(s + s, c.high), l = sum(u.e * 0x1.62e42fefa38p-1, f.high);
  return {l.high, l.low + fma(u.e, Vec<double>(0x1.ef35793c7673p-45), fma(s_low, Vec<double>(2), c.low + f.low))};
}
// exp(a + b), |b| < 2^-40 |a|: what rounding takes from 1 + r is added again with the tail.
DY_INLINE Vec<double> exp_double(Vec<double> a, Vec<double> b) {
  Reduced<double> x = reduce(a);
  Double<double> r = sum(x.r, b), y = sum(1, r.high);
  return scale(y.high + fma(exp_tail(r.high), r.high * r.high, y.low + r.low), x.n);
}
DY_INLINE Vec<double> pow(Vec<double> x, Vec<double> y) {
  Vec<double> simple;
  if (simple_pow(x, y, simple)) return simple;
  Vec<double> a = abs(x);
  Double<double> log_a = log_double(a), e = product(y, log_a.high);
  Vec<double> low = select(abs(e.high) < 800, fma(y, log_a.low, e.low), 0);
  Vec<double> p = exp_double(clamp(e.high, kExpLow<double>, kExpHigh<double>), low);
  p = select((a == 0) | isinf(a), select((a == 0) ^ (y < 0), Vec<double>(0), Vec<double>(kInf)), p);
  return pow_of(x, y, select(isnan(x) | isnan(y), kNaN, p));
}
#else
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
#endif

}  // namespace math

template <class T> DY_INLINE Vec<T> pow(Vec<T> x, Vec<T> y) { return math::pow(x, y); }
template <class T, Number S> DY_INLINE Vec<T> pow(Vec<T> x, S y) { return math::pow(x, Vec<T>(y)); }
template <class T, Number S> DY_INLINE Vec<T> pow(S x, Vec<T> y) { return math::pow(Vec<T>(x), y); }

}  // namespace dyadic::DY_ISA
