// Complex<V>: complex numbers as a vector of real parts and one of imaginary parts, with the vocabulary of Vec that has a
// meaning for them. V is Vec<float>, Vec<double>, or Probe (ops/probe.h), which counts.
#pragma once
#include "base/simd/vec.h"

namespace dyadic::DY_ISA {

template <class V> struct Complex {
  V re, im;

  constexpr DY_INLINE Complex(V r, V i) : re(r), im(i) {}
  constexpr DY_INLINE Complex(V r) : re(r), im(0) {}
  template <Number S> constexpr DY_INLINE Complex(S c) : re(V(c)), im(V(0)) {}

  friend constexpr DY_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr DY_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr DY_INLINE Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend constexpr DY_INLINE Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's algorithm, both first divided by b's larger part: no overflow where the quotient has none. By zero the
  // parts are divided one by one, as PyTorch does: 2 / 0 is (inf, nan).
  friend constexpr DY_INLINE Complex operator/(Complex a, Complex b) {
    const auto wide = abs(b.re) >= abs(b.im);
    const V large = select(wide, b.re, b.im), small = select(wide, b.im, b.re);
    const auto none = large == V(0);
    const V ratio = select(none, V(0), small / large), scale = V(1) + ratio * ratio;
    const V p = select(wide, a.re, a.im) / large, q = select(wide, a.im, a.re) / large;
    const V im = q - select(none, V(0), p * ratio);
    return {(p + select(none, V(0), q * ratio)) / scale, select(wide, im, -im) / scale};
  }
  friend constexpr DY_INLINE auto operator==(Complex a, Complex b) { return (a.re == b.re) & (a.im == b.im); }
  friend constexpr DY_INLINE auto operator!=(Complex a, Complex b) { return (a.re != b.re) | (a.im != b.im); }

  template <class M> friend constexpr DY_INLINE Complex select(M m, Complex yes, Complex no) {
    return {select(m, yes.re, no.re), select(m, yes.im, no.im)};
  }
  friend constexpr DY_INLINE Complex conj(Complex a) { return {a.re, -a.im}; }
  friend constexpr DY_INLINE auto isnan(Complex a) { return isnan(a.re) | isnan(a.im); }
  friend constexpr DY_INLINE auto isinf(Complex a) { return isinf(a.re) | isinf(a.im); }
  friend constexpr DY_INLINE auto isfinite(Complex a) { return isfinite(a.re) & isfinite(a.im); }
  // The absolute value, without overflow or underflow on the way; infinite if a part is, whatever the other.
  friend constexpr DY_INLINE V abs(Complex a) {
    const V x = abs(a.re), y = abs(a.im);
    const V large = select(x > y, x, y), small = select(x > y, y, x);
    const V ratio = small / select(large == V(0), V(1), large);
    const V size = select(isnan(x) | isnan(y), x + y, large * sqrt(V(1) + ratio * ratio));
    return select(isinf(a), V(kInf), size);
  }
};

}  // namespace dyadic::DY_ISA
