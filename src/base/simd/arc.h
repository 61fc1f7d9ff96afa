// asin, acos, atan and atan2 on vectors. Polynomials are interpolated at Chebyshev's points; errors stand beside them.
#pragma once
#include "base/simd/exp.h"
#include "base/simd/lanewise.h"

namespace dyadic::DY_ISA {

namespace math {

inline constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54;

// asin(s) = s + s z asin_tail(z), z = s^2 <= 1/4; 2^-55 of asin.
DY_INLINE Vec<double> asin_tail(Vec<double> z) {
  return z * poly(z, 0.16666666666666669, 0.07499999999998433, 0.04464285714635543, 0.030381944138531247, 0.02237217294214989,
                  0.017352392720869973, 0.013971212973552933, 0.011479177415184906, 0.01032281435018578, 0.005457506718640358,
                  0.01740087944269402, -0.014851887071247204, 0.028757851367421566);
}
// atan(s) = s + s z atan_tail(z), z = s^2 <= tan(pi/8)^2; 2^-56 of atan.
DY_INLINE Vec<double> atan_tail(Vec<double> z) {
  return z * poly(z, -0.3333333333333333, 0.19999999999999804, -0.14285714285659806, 0.11111111105153429, -0.09090908753400499,
                  0.07692296372129964, -0.06666424833613552, 0.05878928398517232, -0.052304498567092406, 0.04551573086664191,
                  -0.034570044186095536, 0.016285183029865667);
}
// The angle of a point (x, y) of the first quadrant, turned by pi/2 or pi/4 into |angle| <= pi/8. Neither both zero nor both
// infinite; x + y does not overflow.
DY_INLINE Vec<double> first_quadrant(Vec<double> y, Vec<double> x) {
  Mask<double> steep = y > x * 2.414213562373095, middle = (y > x * 0.4142135623730951) & !steep;
  Vec<double> num = select(steep, -x, select(middle, y - x, y));
  Vec<double> den = select(steep, y, select(middle, y + x, x));
  Vec<double> t = num / den, turn = select(steep, 1.0, select(middle, 0.5, Vec<double>(0)));
  return turn * kHalfPi + (t + (t * atan_tail(t * t) + turn * kHalfPiRest));
}

}  // namespace math

DY_INLINE Vec<double> asin(Vec<double> x) {
  using namespace math;
  Vec<double> a = abs(x);
  Mask<double> far = a > 0.5;
  Vec<double> z = select(far, (1 - a) * 0.5, a * a), s = select(far, sqrt(z), a), tail = asin_tail(z);
  Vec<double> y = fma(s, tail, s);
  return copysign(select(far, kHalfPi - (2 * y - kHalfPiRest), y), x);
}
DY_INLINE Vec<double> acos(Vec<double> x) {
  using namespace math;
  Vec<double> a = abs(x);
  Mask<double> far = a > 0.5;
  Vec<double> z = select(far, (1 - a) * 0.5, a * a), s = select(far, sqrt(z), x), tail = asin_tail(z);
  Vec<double> y = s * tail;  // asin(s) - s
  Vec<double> near = kHalfPi - (s - (kHalfPiRest - y)), twice = 2 * (s + y);
  return select(far, select(x < 0, 2 * kHalfPi - (twice - 2 * kHalfPiRest), twice), near);
}
DY_INLINE Vec<double> atan(Vec<double> x) { return copysign(math::first_quadrant(min(abs(x), 0x1p1000), 1), x); }
// The angle of the point (x, y), in [-pi, pi], with the special values of C99, annex F.9.1.4.
DY_INLINE Vec<double> atan2(Vec<double> y, Vec<double> x) {
  using namespace math;
  Vec<double> a = abs(y), b = abs(x);
  Mask<double> both = isinf(y) & isinf(x), large = max(a, b) > 0x1p1000;
  a = select(both, 1, select(large, a * 0x1p-30, a));
  b = select(both, 1, select(large, b * 0x1p-30, b));
  Vec<double> r = select((a == 0) & (b == 0), 0, first_quadrant(a, b));
  r = select(signbit(x), 2 * kHalfPi - (r - 2 * kHalfPiRest), r);
  return copysign(select(isnan(x) | isnan(y), kNaN, r), y);
}
DY_IN_DOUBLE(asin)
DY_IN_DOUBLE(acos)
DY_IN_DOUBLE(atan)
DY_IN_DOUBLE2(atan2)

}  // namespace dyadic::DY_ISA
