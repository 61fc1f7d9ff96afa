// Bessel functions: the modified i0, i1 and their scaled forms on vectors, j0, j1, y0, y1 of the C library lane by lane.
#pragma once
#include "base/simd/hyperbolic.h"

extern "C" {
double j0(double) noexcept;
double j1(double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
}

namespace dyadic::DY_ISA {

namespace math {

inline constexpr double kBesselFar = 8;

// I0(a) and I1(a) / a of v = (a / 8)^2 <= 1: all coefficients positive, 2^-54.9.
DY_INLINE Vec<double> i0_near(Vec<double> v) {
  return poly(v, 1.0, 16.0, 64.0, 113.77777777777777, 113.77777777777777, 72.81777777777778, 32.36345679012344,
              10.567659360040441, 2.6419148400093233, 0.5218597214867813, 0.08349755542627117, 0.011040999094799591,
              0.0012267776162024192, 0.00011614472248567581, 9.481084375827215e-06, 6.74320616828532e-07, 4.206729435116016e-08,
              2.3688972050637775e-09, 1.0291819294254873e-10, 7.602437422820027e-12);
}
DY_INLINE Vec<double> i1_near(Vec<double> v) {
  return poly(v, 0.5, 4.0, 10.666666666666666, 14.222222222222221, 11.377777777777778, 6.068148148148148, 2.311675485008818,
              0.6604787100025226, 0.14677304666720886, 0.026092986074251156, 0.00379534342871093, 0.000460041628426805,
              4.7183755337505886e-05, 4.148024691424634e-06, 3.160372331259777e-07, 2.1071722343353562e-08,
              1.2376968960564212e-09, 6.564864866280727e-11, 2.7426669706782345e-12, 1.8653809233160332e-13);
}
// exp(-a) sqrt(a) I(a) of t = 16 / a - 1, a >= 8; 2^-53.8.
DY_INLINE Vec<double> i0_far(Vec<double> t) {
  return poly(t, 0.4021765094450081, 0.0033605519836678913, 0.00013621607438951764, 1.1143033788425403e-05,
              1.4838476779656742e-06, 2.9735992156596496e-07, 8.872014792919072e-08, 3.93251141664098e-08,
              2.1567789377160627e-08, 7.559427186122421e-09, -6.856399597826492e-09, -1.3427779877468502e-08,
              -5.0178524411298585e-09, 7.6009866363302e-09, 6.522768920932243e-09, -3.587590608108499e-09,
              -4.5312017631234925e-09, 1.6100081168695155e-09, 2.164170576131736e-09, -6.338985560071447e-10,
              -6.496733377787778e-10, 1.774404425780705e-10, 9.118805124678376e-11, -2.450479063795916e-11);
}
DY_INLINE Vec<double> i1_far(Vec<double> t) {
  return poly(t, 0.38939845902587233, -0.009749577193235765, -0.00021923576383138082, -1.5038547198194426e-05,
              -1.8349102492705733e-06, -3.4838563538724394e-07, -1.0001075256519489e-07, -4.3128488678986876e-08,
              -2.3394105322401808e-08, -8.432234125126343e-09, 6.8474921245085465e-09, 1.4052023820420303e-08,
              5.572280524491222e-09, -7.688005937325226e-09, -6.9449299300273845e-09, 3.503111409375055e-09,
              4.764419799557193e-09, -1.5233850963982506e-09, -2.26293640508994e-09, 5.882054642259619e-10,
              6.774920690579385e-10, -1.6330498471647934e-10, -9.495993020544917e-11, 2.2506836881647293e-11);
}
template <class Near, class Far> DY_INLINE Vec<double> bessel_scaled(Vec<double> a, Near near, Far far) {
  Vec<double> q = a * (1 / kBesselFar), beyond = max(a, kBesselFar);
  return select(a < kBesselFar, near(q * q) * exp(-a), far(16 / beyond - 1) / sqrt(beyond));
}
template <class Near, class Far> DY_INLINE Vec<double> bessel(Vec<double> a, Near near, Far far) {
  Vec<double> q = a * (1 / kBesselFar), beyond = clamp(a, kBesselFar, 720);
  Vec<double> large = exp_below<8>(beyond) * (far(16 / beyond - 1) / sqrt(beyond)) * 256;
  return select(a < kBesselFar, near(q * q), large);
}
#define DY_FIT(name) [](Vec<double> t) __attribute__((always_inline)) { return math::name(t); }
#define DY_FIT_ODD(a) [a](Vec<double> v) __attribute__((always_inline)) { return a * math::i1_near(v); }

}  // namespace math

DY_INLINE Vec<double> i0(Vec<double> x) { return math::bessel(abs(x), DY_FIT(i0_near), DY_FIT(i0_far)); }
DY_INLINE Vec<double> i0e(Vec<double> x) { return math::bessel_scaled(abs(x), DY_FIT(i0_near), DY_FIT(i0_far)); }
DY_INLINE Vec<double> i1(Vec<double> x) {
  Vec<double> a = abs(x);
  return copysign(math::bessel(a, DY_FIT_ODD(a), DY_FIT(i1_far)), x);
}
DY_INLINE Vec<double> i1e(Vec<double> x) {
  Vec<double> a = abs(x);
  return copysign(math::bessel_scaled(a, DY_FIT_ODD(a), DY_FIT(i1_far)), x);
}
#undef DY_FIT
#undef DY_FIT_ODD
#define DY_FROM_C(name, function)                                             \
  DY_INLINE Vec<double> name(Vec<double> x) {                                 \
    return math::patch(x == x, x, x, [](double v) { return ::function(v); }); \
  }
DY_FROM_C(bessel_j0, j0)
DY_FROM_C(bessel_j1, j1)
DY_FROM_C(bessel_y0, y0)
DY_FROM_C(bessel_y1, y1)
#undef DY_FROM_C
DY_IN_DOUBLE(i0)
DY_IN_DOUBLE(i0e)
DY_IN_DOUBLE(i1)
DY_IN_DOUBLE(i1e)
DY_IN_DOUBLE(bessel_j0)
DY_IN_DOUBLE(bessel_j1)
DY_IN_DOUBLE(bessel_y0)
DY_IN_DOUBLE(bessel_y1)

}  // namespace dyadic::DY_ISA
