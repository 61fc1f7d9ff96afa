// sinh, cosh and the inverse hyperbolic functions on vectors; tanh is in exp.h. log10 and hypot, which have no better place.
#pragma once
#include "base/simd/lanewise.h"
#include "base/simd/log.h"

namespace dyadic::DY_ISA {

namespace math {

// exp(x) / 2^K, for x up to 720: overflows where the result of what multiplies it by 2^K does.
template <int K> DY_INLINE Vec<double> exp_below(Vec<double> x) {
  Reduced<double> y = reduce(clamp(x, kExpLow<double>, 720));
  return scale(expm1_near(y.r) + 1, y.n - double(K));
}

}  // namespace math

DY_INLINE Vec<double> sinh(Vec<double> x) {
  using namespace math;
  Vec<double> a = abs(x), e = expm1_core(clamp(a, 0, 40));
  Vec<double> y = select(a < 22, (e + e / (e + 1)) * 0.5, exp_below<1>(a));
  return copysign(select(a < kTiny<double>, a, y), x);
}
DY_INLINE Vec<double> cosh(Vec<double> x) {
  Vec<double> e = math::exp_below<1>(abs(x));
  return e + 0.25 / e;
}
DY_INLINE Vec<double> asinh(Vec<double> x) {
  using namespace math;
  Vec<double> a = abs(x), z = a * a;
  Mask<double> large = a > 0x1p28;
  Vec<double> t = select(large, a, a + z / (1 + sqrt(z + 1)));
  return copysign(select(large, log(t) + kLn2, log1p(t)), x);
}
DY_INLINE Vec<double> acosh(Vec<double> x) {
  using namespace math;
  Mask<double> large = x > 0x1p28;
  Vec<double> t = x - 1;
  t = select(large, x, t + sqrt(fma(t, t, t + t)));
  return select(x < 1, kNaN, select(large, log(t) + kLn2, log1p(t)));
}
DY_INLINE Vec<double> atanh(Vec<double> x) {
  Vec<double> a = abs(x), twice = a + a, q = a / (1 - a);
  Vec<double> t = select(a < 0.5, fma(twice, q, twice), q + q);
  return copysign(log1p(t) * 0.5, x);
}
DY_IN_DOUBLE(sinh)
DY_IN_DOUBLE(cosh)
DY_IN_DOUBLE(asinh)
DY_IN_DOUBLE(acosh)
DY_IN_DOUBLE(atanh)

DY_INLINE Vec<double> log10(Vec<double> x) {
  math::Split<double> y = math::split(x);
  constexpr double kLog2High = 0x1.34413509f6p-2, kLog2Low = 0x1.9fef311f12b36p-42;  // of log10(2); products with e are exact
  Vec<double> m = (y.f - math::log_tail(y.f, Vec<double>(0))) * 0.4342944819032518;
  return math::repair(x, y.e * kLog2High + (y.e * kLog2Low + m));
}
DY_INLINE Vec<float> log10(Vec<float> x) {
  Wide w = widen(x);
  auto part = [](Vec<double> v) __attribute__((always_inline)) {
    math::Split<double> y = math::split(v);
    return fma(y.e, Vec<double>(0.3010299956639812), math::log1p_short(y.f) * 0.4342944819032518);
  };
  return math::repair(x, narrow(part(w.low), part(w.high)));
}

// sqrt(x^2 + y^2) without overflow on the way; infinite if either is, even beside NaN.
DY_INLINE Vec<double> hypot(Vec<double> x, Vec<double> y) {
  Vec<double> a = abs(x), b = abs(y), top = hn::Max(a.v, b.v), low = hn::Min(a.v, b.v);
  Vec<double> up = select(top > 0x1p500, 0x1p-600, select(top < 0x1p-450, 0x1p600, Vec<double>(1)));
  a = top * up;
  b = low * up;
  Vec<double> r = sqrt(a * a + b * b) * (1 / up);
  r = select(isnan(x) | isnan(y), kNaN, r);
  return select(isinf(x) | isinf(y), kInf, r);
}
DY_INLINE Vec<float> hypot(Vec<float> x, Vec<float> y) {  // in double nothing overflows
  Wide a = widen(x), b = widen(y);
  Vec<double> low = fma(a.low, a.low, b.low * b.low), high = fma(a.high, a.high, b.high * b.high);
  Vec<float> r = narrow(math::short_sqrt(low), math::short_sqrt(high));
  return select(isinf(x) | isinf(y), kInf, r);
}

}  // namespace dyadic::DY_ISA
