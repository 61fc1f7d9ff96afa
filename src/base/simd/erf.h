// erf, erfc and the normal distribution function on vectors, with small *relative* error in the tails: gelu(x) = x * normcdf(x)
// keeps its digits where 1 + erf(x / sqrt 2) would cancel them.
#pragma once
#include "base/simd/exp.h"

namespace dyadic::DY_ISA {

namespace math {

// x^2 = high^2 + (x - high)(x + high), high^2 exact: exp(-x^2) would lose x^2 ulp otherwise.
template <class T> struct Square {
  Vec<T> high, low;
};
template <class T> DY_INLINE Square<T> square(Vec<T> x) {
  auto keep = hn::Set(hn::RebindToUnsigned<hn::ScalableTag<T>>(), kF32<T> ? 0xfffff000u : 0xffffffff'00000000u);
  Vec<T> h = from_bits<T>(hn::And(bits(x), keep));
  return {h * h, (x - h) * (x + h)};
}

// Mills' ratio exp(t^2/2) P(X > t) for t >= 0: times t + 3 it is a polynomial in q = (t - 3) / (t + 3), 2^-24.1 up to t = 14.5.
DY_INLINE Vec<float> normal_tail(Vec<float> t) {
  Vec<float> inverse = 1 / (t + 3), q = (t - 3) * inverse;
  return inverse * poly(q, 0.729083717, -0.50933218, 0.230017707, -0.0472581908, -0.0104624452, 0.00693746423, 0.00101713033,
                        -0.000946749642, -0.000203900025, 5.18556371e-5);
}

// W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969), with the coefficients of his
// CALERF.
DY_INLINE Vec<double> erf_near(Vec<double> x) {  // |x| <= 0.46875
  Vec<double> z = x * x;
  Vec<double> p =
      poly(z, 3.20937758913846947e3, 3.77485237685302021e2, 1.13864154151050156e2, 3.16112374387056560, 1.85777706184603153e-1);
  Vec<double> q = poly(z, 2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2, 2.36012909523441209e1, 1);
  return x * (p / q);
}
DY_INLINE Vec<double> erfcx_far(Vec<double> y) {  // exp(y^2) erfc(y), 0.46875 <= y
  Vec<double> p =
      poly(y, 1.23033935479799725e3, 2.05107837782607147e3, 1.71204761263407058e3, 8.81952221241769090e2, 2.98635138197400131e2,
           6.61191906371416295e1, 8.88314979438837594, 5.64188496988670089e-1, 2.15311535474403846e-8);
  Vec<double> q = poly(y, 1.23033935480374942e3, 3.43936767414372164e3, 4.36261909014324716e3, 3.29079923573345963e3,
                       1.62138957456669019e3, 5.37181101862009858e2, 1.17693950891312499e2, 1.57449261107098347e1, 1);
  Vec<double> z = 1 / (y * y);
  Vec<double> pz = z * poly(z, 6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1, 3.60344899949804439e-1,
                            3.05326634961232344e-1, 1.63153871373020978e-2);
  Vec<double> qz = poly(z, 2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1, 1.87295284992346047,
                        2.56852019228982242, 1);
  Mask<double> far = y > 4;
  p = select(far, fma(qz, Vec<double>(0.56418958354775628695), -pz), p);
  return p / select(far, qz * y, q);
}
inline constexpr double kNear = 0.46875, kUnderflow = 28;  // from the latter on exp(-y^2) is zero
DY_INLINE Vec<double> erfc_far(Vec<double> y) {
  y = clamp(y, kNear, kUnderflow);
  Square<double> s = square(y);
  return exp_sum(-s.high, -s.low) * erfcx_far(y);
}

}  // namespace math

DY_INLINE Vec<double> erf(Vec<double> x) {
  using namespace math;
  Vec<double> y = abs(x);
  return select(y <= kNear, erf_near(x), copysign(1 - erfc_far(y), x));
}
DY_INLINE Vec<double> erfc(Vec<double> x) {
  using namespace math;
  Vec<double> y = abs(x), far = erfc_far(y);
  return select(y <= kNear, 1 - erf_near(x), select(x < 0, 2 - far, far));
}
// P(X <= x) of a standard normal X.
DY_INLINE Vec<double> normcdf(Vec<double> x) {
  using namespace math;
  constexpr double kRootHalf = 0.70710678118654752440;
  Vec<double> t = clamp(abs(x), 0, kUnderflow / kRootHalf), y = t * kRootHalf;
  Square<double> s = square(t);
  Vec<double> far = exp_sum(s.high * -0.5, s.low * -0.5) * (erfcx_far(clamp(y, kNear, kUnderflow)) * 0.5);
  return select(y <= kNear, fma(erf_near(x * kRootHalf), Vec<double>(0.5), Vec<double>(0.5)), select(x < 0, far, 1 - far));
}

// Near zero x + x P(x^2), 2^-26 on [0, 0.875]; beyond, 1 - 2^(t P(t)) with a fit of log2(erfc): 2^-28 of erf.
DY_INLINE Vec<float> erf(Vec<float> x) {
  using namespace math;
  Vec<float> t = clamp(abs(x), 0, 4), z = t * t;  // from 3.92 on the result rounds to 1
  Vec<float> near = poly(z, 0.128379151, -0.376125038, 0.112819217, -0.0267704856, 0.00499892794, -0.000602049113);
  Vec<float> u = t * poly(t, -1.62811816, -0.91709286, -0.151933447, 0.0330701619, -0.00465292484, 0.000310511765);
  Vec<float> n = round_near(u), r = u - n;
  // 2^r to 2^-23.3: erfc is at most 0.22 here, so a coarser fit than exp2's is enough.
  Vec<float> p = poly(r, 1, 0.693147004, 0.240222231, 0.0555064939, 0.00967274141, 0.0013304567);
  Vec<float> far = 1 - p * pow2(n);
  return copysign(select(t < 0.875, fma(near, t, t), far), x);
}
DY_INLINE Vec<float> erfc(Vec<float> x) {
  using namespace math;
  Vec<float> y = clamp(abs(x), 0, 10.25);
  Square<float> s = square(y);
  Vec<float> far = exp_sum(-s.high, -s.low) * (normal_tail(y * 1.41421356f) * 2);
  return select(x < 0, 2 - far, far);
}
DY_INLINE Vec<float> normcdf(Vec<float> x) {
  using namespace math;
  Vec<float> t = clamp(abs(x), 0, 14.5);
  Square<float> s = square(t);
  Vec<float> far = exp_sum(s.high * -0.5, s.low * -0.5) * normal_tail(t);
  return select(x < 0, far, 1 - far);
}

}  // namespace dyadic::DY_ISA
