// lgamma, digamma and Hurwitz' zeta function on vectors, by recurrence from fits on [1, 2] and by Stirling's series from 8 on.
// Negative arguments of lgamma and all of zeta go lane by lane.
#pragma once
#include "base/simd/lanewise.h"
#include "base/simd/log.h"
#include "base/simd/trig.h"

extern "C" double lgamma_r(double, int*) noexcept;

namespace dyadic::DY_ISA {

namespace math {

DY_EVERYWHERE inline double log_gamma(double x) {  // the C library's
#if __CUDA_ARCH__
  return ::lgamma(x);
#else
  int sign;
  return lgamma_r(x, &sign);
#endif
}

inline constexpr double kStirling = 8;
inline constexpr int kSteps = 6;  // from 8 down to 2

// lgamma(y) / ((y - 1) (y - 2)) of t = y - 3/2, 1 <= y <= 2; 2^-54.7.
DY_INLINE Vec<double> lgamma_fit(Vec<double> t) {
  return poly(t, 0.4831289505409809, -0.14595989591430608, 0.06291140107456494, -0.031308487501009494, 0.016797098631185916,
              -0.009425622448625905, 0.005446457844650585, -0.003212074069736748, 0.0019229161355079497, -0.0011644146716071257,
              0.0007115223848906008, -0.00043799193485690124, 0.00027127505354773154, -0.00016892719402703723,
              0.00010564474884131882, -6.609271409301556e-05, 4.1635136148902716e-05, -2.7356444761067124e-05,
              1.734263784459851e-05, -8.07952925042159e-06, 5.129828644815147e-06, -7.970873319492813e-06,
              5.1046182161001864e-06);
}
// (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x of z = 1 / x^2, x >= 8; 2^-54.
DY_INLINE Vec<double> lgamma_series(Vec<double> z) {
  return poly(z, 0.08333333333333333, -0.0027777777777776747, 0.0007936507935117282, -0.0005952380234291254,
              0.0008417325268022405, -0.001914965912162907, 0.0062081367662297935, -0.020855820837463117);
}
// digamma(y) / (y - its zero) of t = y - 3/2, 1 <= y <= 2; 2^-54.2.
DY_INLINE Vec<double> digamma_fit(Vec<double> t) {
  return poly(t, 0.9510558760318328, -0.4236274212814606, 0.24054248424078697, -0.14840492305388092, 0.09498872445289039,
              -0.06192213327548831, 0.040760833940846085, -0.026975796659787055, 0.017907248317313294, -0.011908220105959716,
              0.007927021796868154, -0.005279937255532708, 0.003518106563802472, -0.0023454947397380833, 0.0015633696313653504,
              -0.0010364584817312839, 0.0006909255761282986, -0.00048595039220036254, 0.00032395945401345196,
              -0.00014480643368061614, 9.653646261410062e-05, -0.0001782188548855923, 0.00011881232908510335);
}
// (log x - 1/(2x) - digamma(x)) x^2 of z = 1 / x^2, x >= 8; 2^-54.
DY_INLINE Vec<double> digamma_series(Vec<double> z) {
  return poly(z, 0.08333333333333333, -0.008333333333333273, 0.003968253968150779, -0.0041666665982644955, 0.007575734736252119,
              -0.021088476563015532, 0.08284662584146768, -0.4103919397123186, 1.7723438848038762);
}
DY_INLINE Vec<double> digamma_positive(Vec<double> x) {
  constexpr double kZero = 0x1.762d86356be3fp+0, kZeroRest = 0x1.b86a722197829p-54;
  Vec<double> y = min(x, kStirling), num = 0, den = 1;  // num / den: the sum of 1 / y over the steps
  for (int i = 0; i < kSteps; i++) {
    Mask<double> step = y > 2;
    y = select(step, y - 1, y);
    num = select(step, fma(num, y, den), num);
    den = select(step, den * y, den);
  }
  Mask<double> small = x < 1;
  Vec<double> from_zero = select(small, x - (kZero - 1), y - kZero) - kZeroRest;
  Vec<double> near = from_zero * digamma_fit(select(small, x - 0.5, y - 1.5)) + select(small, -1 / x, num / den);
  Vec<double> z = 1 / (x * x);
  return select(x < kStirling, near, log(x) - (0.5 / x + z * digamma_series(z)));
}

// The sum of (q + k)^-s over k >= 0 for q > 0: ten terms and the series of Euler and Maclaurin (Abramowitz and Stegun 23.1.30).
DY_EVERYWHERE inline double zeta_positive(double s, double q) {
  constexpr int kTerms = 10;
  constexpr double kBernoulli[] = {1. / 12,
                                   -1. / 720,
                                   1. / 30240,
                                   -1. / 1209600,
                                   1. / 47900160,
                                   -691. / 1307674368000.,
                                   1. / 74724249600.,
                                   -3617. / 10670622842880000.,
                                   43867. / 5109094217170944000.};  // B_2j / (2j)!
  double sum = 0;
  for (int k = 0; k < kTerms; k++) {
    const double term = __builtin_pow(q + k, -s);
    sum += term;
    if (term < sum * 0x1p-60) return sum;
  }
  const double a = q + kTerms, power = __builtin_pow(a, -s);
  sum += power * (a / (s - 1) + 0.5);
  double factor = s * power / a;
  for (int j = 0; j < 9; j++) {
    sum += kBernoulli[j] * factor;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (a * a);
  }
  return sum;
}
DY_EVERYWHERE inline double zeta_any(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1)) return kNaN;
  if (q > 0) return q < kInf ? zeta_positive(s, q) : 0;
  const double below = __builtin_floor(q);
  if (q == below) return kInf;
  if (s != __builtin_floor(s) || __builtin_isnan(q)) return kNaN;
  // The terms of q + k < 0 are those of 1 - f, 2 - f ... with the sign of (-1)^s.
  const double f = q - below, mirrored = zeta_positive(s, 1 - f) - zeta_positive(s, 1 - q);
  const bool odd = s * 0.5 != __builtin_floor(s * 0.5);
  return zeta_positive(s, f) + (odd ? -mirrored : mirrored);
}

}  // namespace math

// log |Gamma(x)|; infinite at 0, -1, -2 ...
DY_INLINE Vec<double> lgamma(Vec<double> x) {
  using namespace math;
  Mask<double> small = x < 1, far = x >= kStirling;
  Vec<double> y = min(x, kStirling), product = 1;
  for (int i = 0; i < kSteps; i++) {
    Mask<double> step = y > 2;
    y = select(step, y - 1, y);
    product = select(step, product * y, product);
  }
  Vec<double> log_x = log(select(small | far, x, product));
  Vec<double> near = select(small, x * (x - 1), (y - 1) * (y - 2)) * lgamma_fit(select(small, x - 0.5, y - 1.5));
  near = near + select(small, -log_x, log_x);
  Vec<double> inverse = 1 / x;
  Vec<double> series = (x - 0.5) * (log_x - 1) + (0.4189385332046727418 + lgamma_series(inverse * inverse) * inverse);
  return patch(x < 0, select(far, series, near), x, [](double v) { return log_gamma(v); });
}
// The derivative of log Gamma; NaN at -1, -2 ..., infinite at 0 with the other sign.
DY_INLINE Vec<double> digamma(Vec<double> x) {
  Vec<double> positive = math::digamma_positive(select(x < 0, 1 - x, x));
  Vec<double> turn = x - round(x);  // tan(pi x) has period 1
  Vec<double> y = select(x < 0, positive - 3.141592653589793 / tan(turn * 3.141592653589793), positive);
  y = select((x < 0) & (turn == 0), kNaN, y);
  return select(x == 0, copysign(Vec<double>(kInf), -x), y);
}
// The sum of (q + k)^-s over k >= 0; NaN for s < 1.
DY_INLINE Vec<double> zeta(Vec<double> s, Vec<double> q) {
  return math::patch(s == s, Vec<double>(kNaN), s, q, [](double a, double b) { return math::zeta_any(a, b); });
}
DY_IN_DOUBLE(lgamma)
DY_IN_DOUBLE(digamma)
DY_IN_DOUBLE2(zeta)

}  // namespace dyadic::DY_ISA
