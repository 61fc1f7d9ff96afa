// erf, erfc and the normal distribution function on vectors, with small *relative* error in the tails: gelu(x) = x * normcdf(x)
// keeps its digits where 1 + erf(x / sqrt 2) would cancel them.
#pragma once
#include "base/simd/exp.h"

namespace dyadic::DY_ISA {

namespace math {

// exp(c x^2), c = +-1 or +-1/2. The square is kept to twice its digits: the exponential of a rounded one would be x^2 ulp off.
template <class T> DY_INLINE Vec<T> exp_square(Vec<T> x, double c) {
#if DY_FMA
  Vec<T> cx = x * c, high = cx * x;
  return exp_sum(high, Vec<T>(hn::MulSub(cx.v, x.v, high.v)));
#else  // the upper half of x's digits has an exact square
  auto keep = hn::Set(hn::RebindToUnsigned<hn::ScalableTag<T>>(), kF32<T> ? 0xfffff000u : 0xffffffff'00000000u);
  Vec<T> h = from_bits<T>(hn::And(bits(x), keep));
  return exp_sum(h * h * c, (x - h) * (x + h) * c);
#endif
}

// Mills' ratio exp(t^2/2) P(X > t) for t >= 0: times t + 3 it is a polynomial in q = (t - 3) / (t + 3), 2^-24.1 up to t = 14.5.
DY_INLINE Vec<float> normal_tail(Vec<float> t) {
  Vec<float> r = inverse(t + 3), q = (t - 3) * r;
  return r * poly(q, 0.729083717, -0.50933218, 0.230017707, -0.0472581908, -0.0104624452, 0.00693746423, 0.00101713033,
                  -0.000946749642, -0.000203900025, 5.18556371e-5);
}

DY_INLINE Vec<double> erf_near(Vec<double> x) {  // |x| <= 0.85, 2^-62.4
  return x * poly(x * x, 1.1283791670955126, -0.37612638903183745, 0.11283791670954658, -0.026866170645011453,
                  0.0052239776238528211, -0.00085483268987721298, 0.00012055326766965082, -1.492544583439199e-5,
                  1.6457605964718553e-6, -1.6299770013140074e-7, 1.4185360031458842e-8, -8.826590185220268e-10);
}
// exp(y^2) erfc(y) for y >= 0: times y + 3 it is a polynomial in (y - 3) / (y + 3), 2^-56.7 up to infinity.
DY_INLINE Vec<double> erfcx_positive(Vec<double> y) {
  Vec<double> inverse = 1 / (y + 3), q = (y - 3) * inverse;
  return inverse * poly(q, 1.0740069070883397, -0.88339445316988358, 0.59022835710410425, -0.31046726190057282,
                        0.11952776128717213, -0.026827234624328793, -0.0012124166249892614, 0.0030340619994585455,
                        -0.00054830971290946318, -0.0002767778371143115, 0.0001075616043804358, 3.0398147163928216e-5,
                        -1.7470982187391641e-5, -4.7492818285876685e-6, 2.7663709190453884e-6, 9.9925719380384321e-7,
                        -4.0953598770437924e-7, -2.3435122170148553e-7, 4.7741345626516871e-8, 5.1535128992629609e-8,
                        -2.1171085853680642e-9, -8.8361545383883511e-9, -5.3920987231766975e-10, 8.3603721389561759e-10,
                        9.0009237148359734e-11);
}
inline constexpr double kUnderflow = 28;  // from here on exp(-y^2) is zero
DY_INLINE Vec<double> erfc_positive(Vec<double> y) {
  y = at_most(y, kUnderflow);
  return exp_square(y, -1) * erfcx_positive(y);
}

}  // namespace math

DY_INLINE Vec<double> erf(Vec<double> x) {
  Vec<double> y = abs(x);
  return select(y <= 0.85, math::erf_near(x), copysign(1 - math::erfc_positive(y), x));
}
DY_INLINE Vec<double> erfc(Vec<double> x) {
  Vec<double> far = math::erfc_positive(abs(x));
  return select(x < 0, 2 - far, far);
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
DY_INLINE Vec<float> erfc(Vec<float> x) {  // in double, where the square is exact: 2^-33.5
  using namespace math;
  auto one = [](Vec<double> v) __attribute__((always_inline)) {
    Vec<double> y = at_most(abs(v), 10.25), r = quotient(Vec<double>(1), y + 3);
    Vec<double> scaled = r * poly((y - 3) * r, 1.074006907085097, -0.8833944538838251, 0.5902283580495218, -0.3104672239146799,
                                  0.11952774301848107, -0.0268278145661681, -0.001212480420729196, 0.0030377814891426242,
                                  -0.0005460514924687407, -0.0002872572294638699, 9.63062253842349e-05, 3.9750514247194555e-05);
    Reduced<double> e = reduce(y * -y);
    Vec<double> p = poly(e.r, 0.9999999999735957, 0.500000007911675, 0.1666666695532956, 0.04166626713853859,
                         0.008333253712024539, 0.0013946225772971021, 0.00019922210261860593);
    Vec<double> far = fma(p, e.r, Vec<double>(1)) * pow2(e.n) * scaled;
    return select(v < 0, 2 - far, far);
  };
  Wide w = widen(x);
  return narrow(one(w.low), one(w.high));
}
// P(X <= x) of a standard normal X, and its density there: both have the exponential.
template <class V> struct Normal {
  V below, density;
};
DY_INLINE Normal<Vec<float>> normal(Vec<float> x) {
  using namespace math;
  Vec<float> t = at_most(abs(x), 14.5), e = exp_square(t, -0.5), far = e * normal_tail(t);
  return {select(x < 0, far, 1 - far), e * 0.3989422804014327};
}
DY_INLINE Normal<Vec<double>> normal(Vec<double> x) {
  using namespace math;
  constexpr double kRootHalf = 0.70710678118654752440;
  Vec<double> t = at_most(abs(x), kUnderflow / kRootHalf), e = exp_square(t, -0.5);
  Vec<double> far = e * (erfcx_positive(t * kRootHalf) * 0.5);
  return {select(x < 0, far, 1 - far), e * 0.3989422804014327};
}
template <class T> DY_INLINE Vec<T> ndtr(Vec<T> x) { return normal(x).below; }
template <class V> constexpr Normal<V> normal(V x) { return {ndtr(x), exp(x * x * -0.5) * 0.3989422804014327}; }

}  // namespace dyadic::DY_ISA
