// The regularized incomplete gamma functions, lane by lane: the series below a + 1, Legendre's continued fraction beyond
// (Abramowitz and Stegun 6.5.29 and 6.5.31).
#pragma once
#include "base/simd/gamma.h"

namespace dyadic::DY_ISA {

namespace math {

// x^a exp(-x) / Gamma(a). For large a in terms of (x - a) / a, where the exponents themselves would cancel.
DY_EVERYWHERE inline double igamma_factor(double a, double x) {
  if (a < 20) return __builtin_exp(a * __builtin_log(x) - x - log_gamma(a));
  const double d = (x - a) / a, z = 1 / (a * a);
  const double stirling = (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188))))) / a;
  return __builtin_sqrt(a * 0.15915494309189535) * __builtin_exp(a * (__builtin_log1p(d) - d) - stirling);
}
DY_EVERYWHERE inline double igamma_series(double a, double x) {  // the lower one
  double term = 1 / a, sum = term;
  for (double n = a + 1; term > sum * 0x1p-56; n += 1) sum += term *= x / n;
  return sum * igamma_factor(a, x);
}
DY_EVERYWHERE inline double igamma_fraction(double a, double x) {  // the upper one, by Lentz' method
  constexpr double kTiny = 0x1p-900;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < 1'000'000; i++) {
    const double numerator = -i * (i - a);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    d = 1 / (d == 0 ? kTiny : d);
    if (c == 0) c = kTiny;
    h *= d * c;
    if (__builtin_fabs(d * c - 1) < 0x1p-53) break;
  }
  return h * igamma_factor(a, x);
}
DY_EVERYWHERE inline double igamma_any(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == kInf && x == kInf)) return kNaN;
  if (x == 0 || a == kInf) return upper;
  if (a == 0 || x == kInf) return !upper;
  const bool series = x < a + 1;
  const double p = series ? igamma_series(a, x) : igamma_fraction(a, x);
  return series == upper ? 1 - p : p;
}

}  // namespace math

DY_INLINE Vec<double> igamma(Vec<double> a, Vec<double> x) {
  return math::patch(a == a, Vec<double>(kNaN), a, x, [](double s, double t) { return math::igamma_any(s, t, false); });
}
DY_INLINE Vec<double> igammac(Vec<double> a, Vec<double> x) {
  return math::patch(a == a, Vec<double>(kNaN), a, x, [](double s, double t) { return math::igamma_any(s, t, true); });
}
DY_IN_DOUBLE2(igamma)
DY_IN_DOUBLE2(igammac)

}  // namespace dyadic::DY_ISA
