// Slow and plain definitions, in wider arithmetic, of functions that the C library lacks.
#pragma once
#include <cmath>

namespace dyadic::wide {

using Wide = long double;
inline constexpr Wide kPi = 3.14159265358979323846264338327950288L;

inline Wide digamma(Wide x) {
  if (x == 0) return std::copysign(Wide(INFINITY), -x);
  if (x < 0) return x == std::floor(x) ? NAN : digamma(1 - x) - kPi / std::tan(kPi * (x - std::nearbyint(x)));
  Wide sum = 0;
  for (; x < 30; x += 1) sum -= 1 / x;
  const Wide z = 1 / (x * x);  // Abramowitz and Stegun 6.3.18
  return sum + std::log(x) - 1 / (2 * x) -
         z * (1 / 12.L - z * (1 / 120.L - z * (1 / 252.L - z * (1 / 240.L - z * (1 / 132.L - z * (691 / 32760.L - z / 12))))));
}
inline Wide bessel_i(int order, Wide x, bool scaled) {  // scaled: times exp(-|x|)
  const Wide a = std::fabs(x), sign = order == 1 && std::signbit(x) ? -1 : 1;
  if (std::isnan(a)) return NAN;
  Wide sum = 0;
  if (a < 60) {  // Abramowitz and Stegun 9.6.10
    Wide term = order == 1 ? a / 2 : 1;
    for (int k = 1; term > sum * 1e-25L; ++k) sum += term, term *= a * a / (4 * Wide(k) * (k + order));
    return sign * (sum == 0 ? 0 : sum) * (scaled ? std::exp(-a) : 1);
  }
  Wide term = 1;  // 9.7.1
  for (int k = 1; k < 40; ++k) sum += term, term *= -(4 * Wide(order) - Wide(2 * k - 1) * (2 * k - 1)) / (8 * k * a);
  if (std::isinf(a)) return scaled ? sign * 0 : sign * a;
  const Wide front = sum / std::sqrt(2 * kPi * a);
  return sign * front * (scaled ? 1 : std::exp(a));
}
inline Wide erfcx(Wide x) {
  if (x < 100) return std::exp(x * x) * std::erfc(x);
  const Wide z = 1 / (2 * x * x);
  return (1 - z * (1 - z * (3 - z * (15 - 105 * z)))) / (x * std::sqrt(kPi));
}
// The y >= 0 with erfc(y) = q <= 1, by Newton's method on log erfc.
inline Wide erfc_inverse(Wide q) {
  if (q == 0) return INFINITY;
  Wide y = q > 0.5L ? (1 - q) * 0.886L : std::sqrt(-std::log(q));
  for (int i = 0; i < 60; ++i) {
    const Wide step = (std::log(std::erfc(y)) - std::log(q)) * std::sqrt(kPi) / 2 * erfcx(y);
    y += step;
    if (std::fabs(step) < 1e-19L * y) break;
  }
  return y;
}
inline Wide erf_inverse(Wide x) {
  const Wide a = std::fabs(x);
  if (!(a <= 1)) return NAN;
  if (a > 0.5L) return std::copysign(erfc_inverse(1 - a), x);
  Wide y = a * std::sqrt(kPi) / 2;
  for (int i = 0; i < 60; ++i) y -= (std::erf(y) - a) * std::sqrt(kPi) / 2 * std::exp(y * y);
  return std::copysign(y, x);
}
inline Wide quantile(Wide p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  const Wide root = std::sqrt(2.0L);
  if (p > 0.25L && p < 0.75L) return root * erf_inverse(2 * p - 1);
  return p < 0.5L ? -root * erfc_inverse(2 * p) : root * erfc_inverse(2 * (1 - p));
}

}  // namespace dyadic::wide
