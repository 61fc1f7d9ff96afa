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
// atan2 of f32 is computed in double, in fewer steps: 2^-33 is enough to be within 0.51 ulp.
namespace math {

DY_INLINE Vec<double> atan_short(Vec<double> t) {  // |t| <= 1, 2^-33.9
  Vec<double> z = t * t;
  return fma(t * z,
             poly(z, -0.33333332133763003, 0.19999927240457434, -0.14284167165151056, 0.1109450309315489, -0.089854363464581087,
                  0.072594301865070513, -0.054515821487853594, 0.034475705218070695, -0.016299326199822141,
                  0.0049263048901159297, -0.00069794781999326164),
             t);
}
DY_INLINE Vec<double> atan_quadrant(Vec<double> y, Vec<double> x) {  // y, x >= 0 and not NaN
  Vec<double> least = hn::Min(y.v, x.v), most = clamp(Vec<double>(hn::Max(y.v, x.v)), 0x1p-300, 0x1p600);
  Vec<double> r = atan_short(quotient(at_most(least, 0x1p600), most));
  return select(y > x, kHalfPi - r, r);
}
}  // namespace math

#if DY_FMA
// asin, acos and atan of f32 in f32, to 0.64 and 1.13 ulp (PyTorch: 1.0): twice as fast as by way of double. What the first
// term loses in rounding (a difference from pi/2, a root) joins the small rest.
namespace math {

inline constexpr float kHalfPiF = 0x1.921fb6p+0f, kHalfPiRestF = -0x1.777a5cp-25f;

DY_INLINE Vec<float> asin_rest(Vec<float> s, Vec<float> z) {  // asin(s) - s for z = s^2 <= 1/4, 2^-31.6 of asin
  return s * z *
         poly(z, 0.16666659712791443, 0.07500521838665009, 0.04451338201761246, 0.03183884546160698, 0.014316900633275509,
              0.037691906094551086);
}
DY_INLINE Vec<float> atan_rest(Vec<float> t, Vec<float> z) {  // atan(t) - t for t in [0, 1], z = t^2; 2^-27 of atan
  return t * z *
         poly(z, -0.33333298563957214, 0.1999852955341339, -0.14264044165611267, 0.10951302200555801, -0.08401687443256378,
              0.05794501304626465, -0.031182728707790375, 0.010924945585429668, -0.001797076896764338);
}
// The root of z as `root` + `rest`; the machine's root takes 19 cycles for a vector.
struct Root {
  Vec<float> root, rest;
};
DY_INLINE Root root(Vec<float> z) {
  Vec<float> safe = hn::Max(z.v, Vec<float>(0x1p-100).v);
#if DY_AVX512
  Vec<float> half = Vec<float>(Vec<float>::Raw{_mm512_rsqrt14_ps(safe.v.raw)}) * 0.5f;
  Vec<float> s = z * (half + half);
  s = fma(fnma(s, s, z), half, s);
#else
  Vec<float> half = Vec<float>(hn::ApproximateReciprocalSqrt(safe.v)) * 0.5f, s = sqrt(z);
#endif
  return {s, fnma(s, s, z) * half};
}
DY_INLINE Vec<float> reciprocal_of_large(Vec<float> x) {  // of x >= 1
#if DY_AVX512
  x = at_most(x, 0x1p100);
  Vec<float> r = Vec<float>::Raw{_mm512_rcp14_ps(x.v.raw)};
  return fma(fnma(x, r, Vec<float>(1)), r, r);
#else
  return Vec<float>(1) / x;
#endif
}
// turns * pi / 2 - (a + rest), |a| <= turns * pi / 2 or turns = 0.
DY_INLINE Vec<float> turned(Vec<float> turns, Vec<float> a, Vec<float> rest) {
  Vec<float> whole = turns * kHalfPiF, y = whole - a;
  return y + (fma(turns, Vec<float>(kHalfPiRestF), (whole - y) - a) - rest);
}

}  // namespace math

DY_INLINE Vec<float> asin(Vec<float> x) {
  using namespace math;
  Vec<float> a = abs(x);
  Mask<float> far = a > 0.5f;
  Vec<float> z = select(far, (1 - a) * 0.5f, a * a);
  Root r = root(z);
  Vec<float> s = select(far, r.root, a), rest = asin_rest(s, z);
  Vec<float> y = select(far, turned(1, s + s, (rest + r.rest) * 2), s + rest);
  return select(a <= 1, copysign(y, x), kNaN);
}
DY_INLINE Vec<float> acos(Vec<float> x) {
  using namespace math;
  Vec<float> a = abs(x);
  Mask<float> far = a > 0.5f;
  Vec<float> z = select(far, (1 - a) * 0.5f, a * a);
  Root r = root(z);
  Vec<float> s = select(far, r.root, x), rest = asin_rest(s, z);
  Vec<float> twice = copysign(Vec<float>(2), -x);  // acos is pi - 2 asin(root) for negative x, 2 asin(root) for positive
  Vec<float> y = turned(select(far, select(x < 0, 2, Vec<float>(0)), 1), select(far, s * twice, s),
                        select(far, (rest + r.rest) * twice, rest));
  return select(a <= 1, y, kNaN);
}
DY_INLINE Vec<float> atan(Vec<float> x) {
  using namespace math;
  Vec<float> a = abs(x);
  Mask<float> steep = a > 1;
  Vec<float> inverse = reciprocal_of_large(a), t = select(steep, inverse, a), z = t * t, rest = atan_rest(t, z);
  Vec<float> lost = fnma(at_most(a, 0x1p100), inverse, Vec<float>(1)) * inverse;  // of the reciprocal; atan' = 1 / (1 + z)
  return copysign(select(steep, turned(1, t, fma(lost, fnma(z, Vec<float>(0.5), Vec<float>(1)), rest)), t + rest), x);
}
#else
DY_IN_DOUBLE(asin)
DY_IN_DOUBLE(acos)
DY_IN_DOUBLE(atan)
#endif
DY_INLINE Vec<float> atan2(Vec<float> y, Vec<float> x) {
  using namespace math;
  Wide a = widen(abs(y)), b = widen(x);
  auto part = [](Vec<double> v, Vec<double> u) __attribute__((always_inline)) {
    Vec<double> r = atan_quadrant(v, abs(u));
    return select(signbit(u), 2 * kHalfPi - r, r);
  };
  Vec<float> r = copysign(narrow(part(a.low, b.low), part(a.high, b.high)), y);
  return select(isnan(x) | isnan(y), kNaN, r);
}

}  // namespace dyadic::DY_ISA
