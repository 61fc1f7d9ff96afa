// Complex numbers over lanes, one vector of real parts and one of imaginary ones, and their small Fourier transforms. Only for
// files that are compiled per instruction set.
#pragma once
#include "loops/gemm_micro.h"
#include "loops/lanes.h"

namespace dyadic::DY_ISA {

template <class T> struct Cx {
  using V = Vec<T>;
  static constexpr int64_t L = int64_t(V::size());
  V re, im;

  static DY_INLINE Cx load(const T* p, int64_t part) { return {V::load(p), V::load(p + part)}; }
  DY_INLINE void store(T* p, int64_t part) const { re.store(p), im.store(p + part); }
  friend DY_INLINE Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
  friend DY_INLINE Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
  friend DY_INLINE Cx times(Cx a, Cx b) { return {fnma(a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)}; }
  friend DY_INLINE Cx times(Cx a, const T* turn) { return times(a, Cx{V(turn[0]), V(turn[1])}); }
  friend DY_INLINE Cx scaled(Cx a, T s) { return {a.re * V(s), a.im * V(s)}; }
  friend DY_INLINE Cx plus_scaled(Cx a, Cx b, T s) { return {fma(b.re, V(s), a.re), fma(b.im, V(s), a.im)}; }
  friend DY_INLINE Cx minus_i(Cx a, Cx b) { return {a.re + b.im, a.im - b.re}; }  // a - i b
  friend DY_INLINE Cx plus_i(Cx a, Cx b) { return {a.re - b.im, a.im + b.re}; }
};

// cos and sin of 2 pi k / P for k < P, by their series: 40 terms leave 1e-19.
template <int P> struct Circle {
  double cosine[P], sine[P];
  constexpr Circle() : cosine(), sine() {
    for (int k = 0; k < P; k++) {
      const long double x = 6.283185307179586476925286766559L * (2 * k > P ? k - P : k) / P;
      long double term = 1, sums[2] = {0, 0};
      for (int j = 0; j < 40; j++) {
        sums[j % 2] += j % 4 < 2 ? term : -term;
        term *= x / (j + 1);
      }
      cosine[k] = double(sums[0]), sine[k] = double(sums[1]);
    }
  }
};

template <class T> DY_INLINE void butterfly_4(Cx<T>& x0, Cx<T>& x1, Cx<T>& x2, Cx<T>& x3) {
  const Cx<T> a = x0 + x2, b = x0 - x2, c = x1 + x3, d = x1 - x3;
  x0 = a + c, x1 = minus_i(b, d), x2 = a - c, x3 = plus_i(b, d);
}
// The sums sum_q x_q exp(-2 pi i q r / P) in place.
template <class T, int P> DY_INLINE void butterfly(Cx<T> (&x)[P]) {
  if constexpr (P == 2) {
    const Cx<T> a = x[0];
    x[0] = a + x[1], x[1] = a - x[1];
  } else if constexpr (P == 4) {
    butterfly_4(x[0], x[1], x[2], x[3]);
  } else if constexpr (P == 8) {
    constexpr T r = T(0.70710678118654752440);
    Cx<T> a = x[0], b = x[2], c = x[4], d = x[6], e = x[1], f = x[3], g = x[5], h = x[7];
    butterfly_4(a, b, c, d);
    butterfly_4(e, f, g, h);
    f = {f.re + f.im, f.im - f.re};  // turned by an eighth, and by three below, but for the factor r
    h = {h.im - h.re, -h.re - h.im};
    x[0] = a + e, x[1] = plus_scaled(b, f, r), x[2] = minus_i(c, g), x[3] = plus_scaled(d, h, r);
    x[4] = a - e, x[5] = plus_scaled(b, f, -r), x[6] = plus_i(c, g), x[7] = plus_scaled(d, h, -r);
  } else {  // odd: of the sums and differences of x_q and x_(P - q), the real and imaginary parts of the turns
    constexpr int H = P / 2;
    constexpr Circle<P> circle;
    Cx<T> sum[H], difference[H], first = x[0];
    DY_UNROLL for (int q = 0; q < H; q++) {
      sum[q] = x[q + 1] + x[P - 1 - q], difference[q] = x[q + 1] - x[P - 1 - q];
      first = first + sum[q];
    }
    DY_UNROLL for (int r = 1; r <= H; r++) {
      Cx<T> a = x[0], b = scaled(difference[0], T(circle.sine[r]));
      DY_UNROLL for (int q = 1; q <= H; q++) {
        a = plus_scaled(a, sum[q - 1], T(circle.cosine[q * r % P]));
        if (q > 1) b = plus_scaled(b, difference[q - 1], T(circle.sine[q * r % P]));
      }
      x[r] = minus_i(a, b), x[P - r] = plus_i(a, b);
    }
    x[0] = first;
  }
}

}  // namespace dyadic::DY_ISA
