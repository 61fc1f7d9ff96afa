// exp and its family on vectors: exp, exp2, expm1, tanh, sigmoid. Every special value comes out as IEEE 754 and C say: NaN
// stays, overflow gives infinity, small results are subnormal, the sign of zero survives. Errors are measured in tests/base.
//
// Polynomials are minimax fits (Remez, then coefficients rounded one by one); their errors stand beside them.
#pragma once
#include "base/simd/vec.h"

namespace dyadic::DY_ISA {

namespace math {

// c[kFirst] + c[kFirst + kStep] x + c[kFirst + 2 kStep] x^2 ...
template <int kFirst, int kStep, class T, int n> DY_INLINE Vec<T> every(Vec<T> x, const double (&c)[n]) {
  if constexpr (kFirst + kStep < n)
    return fma(every<kFirst + kStep, kStep>(x, c), x, Vec<T>(c[kFirst]));
  else
    return c[kFirst];
}
// c[kFirst] + c[kFirst + 1] x + c[kFirst + 2] x^2 ... A long chain of multiply-adds, each waiting for the one before, is more
// than the processor looks ahead: from the fifth coefficient on, where rounding matters less, there are two or four chains.
template <int kFirst, class T, int n> DY_INLINE Vec<T> chains(Vec<T> x, const double (&c)[n]) {
  constexpr int k = kFirst, rest = n - kFirst;
  if constexpr (k < 4 && n > 8) {
    return fma(chains<k + 1>(x, c), x, Vec<T>(c[k]));
  } else if constexpr (rest < 4 || n <= 8) {
    return every<k, 1>(x, c);
  } else if constexpr (rest < 12) {
    Vec<T> x2 = x * x;
    return fma(every<k + 1, 2>(x2, c), x, every<k, 2>(x2, c));
  } else {
    Vec<T> x2 = x * x, x4 = x2 * x2;
    return fma(fma(every<k + 3, 4>(x4, c), x2, every<k + 1, 4>(x4, c)), x, fma(every<k + 2, 4>(x4, c), x2, every<k, 4>(x4, c)));
  }
}
// c0 + c1 x + c2 x^2 ...
template <class T, class... C> DY_INLINE Vec<T> poly(Vec<T> x, C... coefficients) {
  const double c[] = {double(coefficients)...};
  return chains<0>(x, c);
}
template <class T> inline constexpr bool kF32 = sizeof(T) == 4;
template <class T> inline constexpr int kMantissa = kF32<T> ? 23 : 52;
template <class T>
inline constexpr double kTiny = kF32<T> ? 0x1p-40 : 0x1p-70;  // f(x) = x to the last bit when f(x) = x + O(x^2) or O(x^3)
// Adding 1.5 * 2^mantissa leaves the nearest integer in the low bits: round() for |x| < 2^(mantissa - 1).
template <class T> inline constexpr double kRounder = kF32<T> ? 0x1.8p23 : 0x1.8p52;

template <class T> DY_INLINE auto bits(Vec<T> x) { return hn::BitCast(hn::RebindToUnsigned<hn::ScalableTag<T>>(), x.v); }
template <class T, class U> DY_INLINE Vec<T> from_bits(U u) { return hn::BitCast(Vec<T>::d, u); }
template <class T> DY_INLINE Vec<T> round_near(Vec<T> x) { return (x + kRounder<T>)-kRounder<T>; }
// Limits that let NaN through: the machine's min and max give their second operand when one is NaN.
template <class T> DY_INLINE Vec<T> clamp(Vec<T> x, double low, double high) {
  return hn::Min(Vec<T>(high).v, hn::Max(Vec<T>(low).v, x.v));
}
template <class T> DY_INLINE Vec<T> at_most(Vec<T> x, double high) { return hn::Min(Vec<T>(high).v, x.v); }
// a / b to 0.6 ulp, for a, b and 1 / b well within the normal numbers. Where several are needed the divider is the limit: it
// takes 16 cycles for a vector of doubles, this 4; one alone costs less than this, as it runs beside the other arithmetic.
DY_INLINE Vec<double> quotient(Vec<double> a, Vec<double> b) {
#if DY_AVX512
  Vec<double> r = Vec<double>::Raw{_mm512_rcp14_pd(b.v.raw)};
  r = fma(fnma(b, r, Vec<double>(1)), r, r);
  Vec<double> q = a * r;
  return fma(fnma(q, b, a), r, q);
#else
  return a / b;
#endif
}
// 1 / x to 0.6 ulp, for x and 1 / x well within the normal numbers: a quotient of floats keeps the divider for 10 cycles.
DY_INLINE Vec<float> inverse(Vec<float> x) {
#if DY_AVX512
  Vec<float> r = Vec<float>::Raw{_mm512_rcp14_ps(x.v.raw)};
  return fma(fnma(x, r, Vec<float>(1)), r, r);
#elif DY_ISA_cuda
  return hn::ReciprocalOfNormal(x.v);
#else
  return 1 / x;
#endif
}
// The root of zero and of numbers beyond 2^-400, to 2^-40: for the same reason, on the way to f32.
DY_INLINE Vec<double> short_sqrt(Vec<double> x) {
#if DY_AVX512
  Vec<double> r = Vec<double>::Raw{_mm512_rsqrt14_pd(hn::Max(x.v, Vec<double>(0x1p-400).v).raw)};
  Vec<double> s = x * r, e = fnma(s, r, Vec<double>(1));
  return fma(s * e, fma(e, Vec<double>(0.375), Vec<double>(0.5)), s);
#else
  return sqrt(x);
#endif
}
// 2^n for integral n within the normal exponents.
template <class T> DY_INLINE Vec<T> pow2(Vec<T> n) {
  constexpr int kBias = kF32<T> ? 127 : 1023;
  return from_bits<T>(hn::ShiftLeft<kMantissa<T>>(bits(n + (kRounder<T> + kBias))));
}
// p * 2^n, rounded once, for p in [0.5, 2] and n up to twice the normal exponents: subnormals and infinity come out right.
template <class T> DY_INLINE Vec<T> scale(Vec<T> p, Vec<T> n) {
#if DY_AVX512
  if constexpr (kF32<T>) {
    return Vec<T>(typename Vec<T>::Raw{_mm512_scalef_ps(p.v.raw, n.v.raw)});
  } else {
    return Vec<T>(typename Vec<T>::Raw{_mm512_scalef_pd(p.v.raw, n.v.raw)});
  }
#elif DY_ISA_cuda  // exponents by integers, which have a pipe of their own; the first product is exact, however n is cut
  const auto e = bits(n + kRounder<T>), half = hn::ShiftRight<1>(e), one = bits(Vec<T>(1));
  const auto power = [&](decltype(e) k) { return from_bits<T>(hn::Add(hn::ShiftLeft<kMantissa<T>>(k), one)); };
  return p * power(half) * power(hn::Sub(e, half));
#else
  Vec<T> half = round_near(n * 0.5);
  return p * pow2(half) * pow2(n - half);
#endif
}

// n = round((a + b) / ln 2), r = a + b - n ln 2; b is a small correction. The high part of ln 2 has trailing zeros, so that its
// product with n is exact without a fused multiply-add.
template <class T> struct Reduced {
  Vec<T> n, r;
};
template <class T> DY_INLINE Reduced<T> reduce(Vec<T> a) {
  constexpr double kHigh = kF32<T> ? 0x1.62e4p-1 : 0x1.62e42feep-1;
  constexpr double kLow = kF32<T> ? 0x1.7f7d1cf79abcap-20 : 0x1.a39ef35793c76p-33;
  Vec<T> n = fma(a, Vec<T>(1.4426950408889634), Vec<T>(kRounder<T>)) - kRounder<T>;
  Vec<T> r = fma(n, Vec<T>(-kHigh), a);
  return {n, fma(n, Vec<T>(-kLow), r)};
}
// exp(r) - 1 = r + r^2 exp_tail(r) on |r| <= ln(2)/2; relative error 2^-26 (f32), 2^-59.8 (f64).
template <class T> DY_INLINE Vec<T> exp_tail(Vec<T> r) {
  Vec<T> p;
  if constexpr (kF32<T>) {
    p = poly(r, 0.49999997, 0.16666539, 0.0416677482, 0.00836708769, 0.00138378621);
  } else {
    p = poly(r, 0.5, 0.1666666666666667684, 0.0416666666666665117, 0.008333333333321665468, 0.001388888888896098236,
             0.0001984126988604260693, 0.00002480158717568207795, 2.755724428913875524e-6, 2.755739960523368574e-7,
             2.51090110396086075e-8, 2.087637708470949166e-9);
  }
  return p;
}
template <class T> DY_INLINE Vec<T> expm1_near(Vec<T> r) { return fma(exp_tail(r), r * r, r); }
template <class T> inline constexpr double kExpLow = kF32<T> ? -104 : -746;  // below, exp rounds to zero
template <class T> inline constexpr double kExpHigh = kF32<T> ? 89 : 710;    // above, it overflows

// exp(a + b), |b| much smaller than 1: for arguments known to more digits than a Vec holds. a within the limits above.
template <class T> DY_INLINE Vec<T> exp_sum(Vec<T> a, Vec<T> b) {
  Reduced<T> x = reduce(a);
  return scale(expm1_near(x.r + b) + 1, x.n);
}
// exp(x) - 1 for limits the caller has applied: 2^n overflows only where the result does.
template <class T> DY_INLINE Vec<T> expm1_core(Vec<T> x) {
  Reduced<T> y = reduce(x);
  Vec<T> half = pow2(y.n - 1);  // half of 2^n, which itself may overflow
  Vec<T> h = fma(half, expm1_near(y.r), half - 0.5);
  return h + h;
}

}  // namespace math

template <class T> DY_INLINE Vec<T> exp(Vec<T> x) {
  math::Reduced<T> y = math::reduce(math::clamp(x, math::kExpLow<T>, math::kExpHigh<T>));
  return math::scale(math::expm1_near(y.r) + 1, y.n);
}

template <class T> DY_INLINE Vec<T> exp2(Vec<T> x) {
  using namespace math;
  x = clamp(x, kF32<T> ? -151 : -1076, kF32<T> ? 129 : 1025);
  Vec<T> n = round_near(x), r = x - n, p;
  if constexpr (kF32<T>) {  // (2^r - 1) / r; 2^-26.3, 2^-55 with the rounding of ln 2
    p = poly(r, 0.693147182, 0.240225941, 0.0555036627, 0.00962544512, 0.00133879262, 0.000133325113);
  } else {
    p = poly(r, 0.6931471805599452862, 0.2402265069591013047, 0.05550410866482009126, 0.009618129107593992311,
             0.00133335581467716258, 0.0001540353045728982723, 0.00001525273349673467493, 1.321543518666536437e-6,
             1.017819777788512688e-7, 7.073800754060404992e-9, 4.435083506305937399e-10);
  }
  return scale(fma(p, r, Vec<T>(1)), n);
}

template <class T> DY_INLINE Vec<T> expm1(Vec<T> x) {
  using namespace math;
  Vec<T> y = expm1_core(clamp(x, kF32<T> ? -18 : -40, kExpHigh<T>));
  return select(abs(x) < kTiny<T>, x, y);
}

DY_INLINE Vec<double> tanh(Vec<double> x) {
  using namespace math;
  Reduced<double> y = reduce(at_most(abs(x) * 2, 44));  // the result rounds to 1 from 19.1 on
  Vec<double> p = pow2(y.n), e = fma(p, expm1_near(y.r), p - 1);
  return copysign(e / (e + 2), x);
}
// x + x^3 p(x^2) up to 0.625 (2^-27.4), beyond 1 - 2 / (exp(2 x) + 1).
DY_INLINE Vec<float> tanh(Vec<float> x) {
  using namespace math;
  Vec<float> a = abs(x), z = a * a;
  Vec<float> p =
      poly(z, -0.333332695150239, 0.13331092210217765, -0.053709654513165304, 0.02053881162661027, -0.005591007978926037);
  Reduced<float> y = reduce(at_most(a + a, 20));  // the result rounds to 1 from 9.02 on
  Vec<float> n = pow2(y.n), e = fma(n, expm1_near(y.r), n);
  Vec<float> far = fnma(inverse(e + 1), Vec<float>(2), Vec<float>(1));
  return copysign(select(a < 0.625, fma(a * z, p, a), far), x);
}

template <class T> DY_INLINE Vec<T> sigmoid(Vec<T> x) {  // e / (1 + e) for negative x keeps tiny results exact to the last bits
  Vec<T> e = exp(-abs(x));
  return select(x < 0, e, Vec<T>(1)) / (e + 1);
}

}  // namespace dyadic::DY_ISA
