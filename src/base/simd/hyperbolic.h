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
// x + x^3 p(x^2) up to 1 (2^-34), beyond (e^a - e^-a) / 2.
DY_INLINE Vec<float> sinh(Vec<float> x) {
  using namespace math;
  Vec<float> a = abs(x), z = a * a;
  Vec<float> near =
      fma(a * z, poly(z, 0.16666666488720874, 0.008333350597929676, 0.00019836066266828281, 2.817439556922312e-6), a);
  Reduced<float> y = reduce(at_most(a, kExpHigh<float> + 1));
  Vec<float> half = scale(expm1_near(y.r) + 1, y.n - 1);
  return copysign(select(a < 1, near, half - 0.25 / half), x);
}
DY_IN_DOUBLE(cosh)
DY_IN_DOUBLE(asinh)
DY_IN_DOUBLE(acosh)

// x + x^3 p(x^2) up to 1/2 (2^-29.4), beyond log((1 + a) / (1 - a)) / 2 with what sum and quotient were rounded by, over 1 + a.
DY_INLINE Vec<float> atanh(Vec<float> x) {
  Vec<float> a = abs(x), z = a * a;
  Vec<float> near = fma(a * z,
                        math::poly(z, 0.3333329884426534, 0.2000258767142012, 0.14221486912105785, 0.11833962018303867,
                                   0.05098544309236081, 0.17719657892748147),
                        a);
  Vec<float> sum = a + 1, q = sum / (1 - a), rest = fnma(q, 1 - a, sum) + (a - (sum - 1));
  Vec<float> far = fma(rest, Vec<float>(0.58), math::log_unrepaired(q)) * 0.5;
  Vec<float> y = select(a < 0.5, near, select(a < 1, far, select(a == 1, kInf, kNaN)));
  return copysign(y, x);
}

DY_INLINE Vec<double> log10(Vec<double> x) {
  math::Split<double> y = math::split(x);
  constexpr double kLog2High = 0x1.34413509f6p-2, kLog2Low = 0x1.9fef311f12b36p-42;  // of log10(2); products with e are exact
  Vec<double> m = (y.f - math::log_tail(y.f, Vec<double>(0))) * 0.4342944819032518;
  return math::repair(x, y.e * kLog2High + (y.e * kLog2Low + m));
}
DY_INLINE Vec<float> log10(Vec<float> x) {
  math::Split<float> y = math::split(x);
  Vec<float> tail = math::log_tail(y.f, Vec<float>(0)), log = y.f - tail, lost = (y.f - log) - tail;
  constexpr double kE = 0x1.bcb7b2p-2, kERest = -0x1.5b235ep-27;    // log10(e)
  constexpr double kLog2 = 0x1.344p-2, kLog2Rest = 0x1.3509f8p-18;  // log10(2); a product of the first with e is exact
  Vec<float> rest = fma(log, Vec<float>(kERest), fma(lost, Vec<float>(kE), y.e * kLog2Rest));
  return math::repair(x, fma(log, Vec<float>(kE), rest) + y.e * kLog2);
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
