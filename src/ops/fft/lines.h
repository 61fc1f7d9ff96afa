// Lines on their way into the lanes of Fourier transforms and back, and what real numbers ask for before or after. Only for
// files that are compiled per instruction set.
#pragma once
#include "loops/gemm_pack.h"
#include "ops/fft/butterflies.h"
#include "ops/fft/plan.h"

namespace dyadic::DY_ISA {

// How numbers lie in a buffer: part c of number k of lane l at k * number + c * part + l. An inverse transform exchanges the
// parts on both sides, which is a pointer to the second one and a negative `part`.
struct FftLayout {
  int64_t number, part;
};
// How they lie in a line: part c of number k at k * number + c * part, `parts` of them (1: the other is 0).
struct FftSpots {
  int64_t count, number, part, parts;
};
template <class T> FftSpots spots(const FftLines<T>& f, bool real, int64_t stride) {
  if (real && f.halves) return {f.n / 2, 2 * stride, stride, 2};
  if (real) return {f.n, stride, 0, 1};
  const bool half = (f.real_in && !f.whole) || f.real_out;
  return {half ? f.n / 2 + 1 : f.n, 2 * stride, 1, 2};
}

// A group of lines, and what their places allow.
template <class E> struct FftGroup {
  E* base;
  const int64_t* start;
  int64_t lines, scale;  // scale: Es of an element
  E* line(int64_t l) const { return base + start[l] * scale; }
  bool even() const {  // equal distances
    for (int64_t l = 2; l < lines; l++)
      if (start[l] - start[l - 1] != start[1] - start[0]) return false;
    return true;
  }
  int64_t distance() const { return lines > 1 ? (start[1] - start[0]) * scale : 0; }
};

template <class T> void gather(const FftGroup<const T>& g, const FftSpots& s, FftLayout y, T* to) {
  using V = Vec<T>;
  constexpr int64_t L = int64_t(V::size());
  constexpr typename V::D d{};
  if (s.parts == 1)
    for (int64_t k = 0; k < s.count; k++) V(0).store(to + k * y.number + y.part);
  const bool even = g.even(), pairs = s.parts == 2 && s.number == 2 && s.part == 1;
  if (even && (pairs || (s.parts == 1 && s.number == 1)))
    return transpose_block(g.line(0), g.distance(), g.lines, s.count * s.parts, to, pairs ? y.part : y.number);
  if (even && g.lines == L && g.distance() == g.scale) {  // the lines are the columns of rows
    const T* from = g.line(0);
    for (int64_t k = 0; k < s.count; k++, from += s.number, to += y.number) {
      if (g.scale == 2) {
        typename V::Raw re, im;
        hn::LoadInterleaved2(d, from, re, im);
        V(re).store(to), V(im).store(to + y.part);
      } else {
        for (int64_t c = 0; c < s.parts; c++) V::load(from + c * s.part).store(to + c * y.part);
      }
    }
    return;
  }
  for (int64_t l = 0; l < g.lines; l++)
    for (int64_t k = 0; k < s.count; k++)
      for (int64_t c = 0; c < s.parts; c++) to[k * y.number + c * y.part + l] = g.line(l)[k * s.number + c * s.part];
}
template <class T> void scatter(const FftGroup<T>& g, const FftSpots& s, FftLayout y, const T* from) {
  using V = Vec<T>;
  constexpr int64_t L = int64_t(V::size());
  constexpr typename V::D d{};
  const bool even = g.even(), pairs = s.parts == 2 && s.number == 2 && s.part == 1;
  if (even && pairs) return transpose_block(from, y.part, s.count * 2, g.lines, g.line(0), g.distance());
  if (even && s.parts == 1 && s.number == 1) return transpose_block(from, y.number, s.count, g.lines, g.line(0), g.distance());
  if (even && g.lines == L && g.distance() == g.scale) {
    T* to = g.line(0);
    for (int64_t k = 0; k < s.count; k++, to += s.number, from += y.number) {
      if (g.scale == 2)
        hn::StoreInterleaved2(V::load(from).v, V::load(from + y.part).v, d, to);
      else
        for (int64_t c = 0; c < s.parts; c++) V::load(from + c * y.part).store(to + c * s.part);
    }
    return;
  }
  for (int64_t l = 0; l < g.lines; l++)
    for (int64_t k = 0; k < s.count; k++)
      for (int64_t c = 0; c < s.parts; c++) g.line(l)[k * s.number + c * s.part] = from[k * y.number + c * y.part + l];
}
// Floats into lanes of doubles, and back.
inline void gather(const FftGroup<const float>& g, const FftSpots& s, FftLayout y, double* to) {
  for (int64_t l = 0; l < g.lines; l++)
    for (int64_t k = 0; k < s.count; k++)
      for (int64_t c = 0; c < 2; c++)
        to[k * y.number + c * y.part + l] = c < s.parts ? double(g.line(l)[k * s.number + c * s.part]) : 0;
}
inline void scatter(const FftGroup<float>& g, const FftSpots& s, FftLayout y, const double* from) {
  for (int64_t l = 0; l < g.lines; l++)
    for (int64_t k = 0; k < s.count; k++)
      for (int64_t c = 0; c < s.parts; c++) g.line(l)[k * s.number + c * s.part] = float(from[k * y.number + c * y.part + l]);
}
// One line whose numbers are `lanes` of one buffer: real parts, then imaginary ones.
template <class T> void gather_line(const T* from, const FftSpots& s, int64_t part, T* to) {
  using V = Vec<T>;
  constexpr int64_t L = int64_t(V::size());
  constexpr typename V::D d{};
  int64_t k = 0;
  if (s.parts == 2 && s.number == 2 && s.part == 1)
    for (; k + L <= s.count; k += L) {
      typename V::Raw re, im;
      hn::LoadInterleaved2(d, from + 2 * k, re, im);
      V(re).store(to + k), V(im).store(to + part + k);
    }
  for (; k < s.count; k++)
    for (int64_t c = 0; c < 2; c++) to[k + c * part] = c < s.parts ? from[k * s.number + c * s.part] : T(0);
}
template <class T> void scatter_line(T* to, const FftSpots& s, int64_t part, const T* from) {
  using V = Vec<T>;
  constexpr int64_t L = int64_t(V::size());
  constexpr typename V::D d{};
  int64_t k = 0;
  if (s.parts == 2 && s.number == 2 && s.part == 1)
    for (; k + L <= s.count; k += L) hn::StoreInterleaved2(V::load(from + k).v, V::load(from + part + k).v, d, to + 2 * k);
  for (; k < s.count; k++)
    for (int64_t c = 0; c < s.parts; c++) to[k * s.number + c * s.part] = from[k + c * part];
}

// What a part of a number is: all lanes, or that of one line.
template <class T> struct FftVectors {
  using X = Vec<T>;
  static DY_INLINE X load(const T* p) { return X::load(p); }
  static DY_INLINE void store(X x, T* p) { x.store(p); }
};
template <class T> struct FftScalars {
  using X = T;
  static DY_INLINE X load(const T* p) { return *p; }
  static DY_INLINE void store(X x, T* p) { *p = x; }
};

// The half of a Hermitian spectrum becomes the whole (conjugated: of its conjugate); only_real: what would be imaginary in real
// places is dropped first.
template <class A, class T> void complete(int64_t n, bool conjugated, bool only_real, FftLayout y, T* x) {
  using X = typename A::X;
  auto re = [&](int64_t k) { return x + k * y.number; };
  auto im = [&](int64_t k) { return x + k * y.number + y.part; };
  if (only_real) {
    A::store(X(0), im(0));
    if (n % 2 == 0) A::store(X(0), im(n / 2));
  }
  for (int64_t k = 0; k <= n / 2; k++) {
    const X b = A::load(im(k));
    if (k > 0 && n - k > n / 2) A::store(A::load(re(k)), re(n - k)), A::store(conjugated ? b : -b, im(n - k));
    if (conjugated) A::store(-b, im(k));
  }
}
// X_k = E_k + w^k O_k from Z = E + i O of n / 2 numbers, w = exp(-2 pi i / n), for k <= n / 2; in place, of n / 2 + 1 numbers.
template <class A, class T> void split_halves(int64_t n, const T* turns, FftLayout y, T* x) {
  using X = typename A::X;
  const int64_t h = n / 2;
  for (int64_t k = 0; k <= h / 2; k++) {
    T *a = x + k * y.number, *b = x + (k == 0 ? 0 : h - k) * y.number, *to = x + (h - k) * y.number;
    const X half(T(0.5)), ar = A::load(a), ai = A::load(a + y.part), br = A::load(b), bi = A::load(b + y.part);
    const X er = (ar + br) * half, ei = (ai - bi) * half, pr = (ai + bi) * half, pi = (br - ar) * half;  // E and O
    const X wr = X(turns[2 * k]), wi = X(turns[2 * k + 1]), tr = pr * wr - pi * wi, ti = pr * wi + pi * wr;
    A::store(er + tr, a), A::store(ei + ti, a + y.part);
    A::store(er - tr, to), A::store(ti - ei, to + y.part);  // the conjugate of E_k - w^k O_k
  }
}
// Z = 2 E + 2 i O from X.
template <class A, class T> void join_halves(int64_t n, const T* turns, FftLayout y, T* x) {
  using X = typename A::X;
  const int64_t h = n / 2;
  for (int64_t k = 0; k <= h / 2; k++) {
    T *a = x + k * y.number, *b = x + (h - k) * y.number;
    const bool ends = k == 0;  // what would be imaginary there is dropped
    const X ar = A::load(a), ai = ends ? X(0) : A::load(a + y.part), br = A::load(b), bi = ends ? X(0) : A::load(b + y.part);
    const X er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi, wr = X(turns[2 * k]), wi = X(-turns[2 * k + 1]);
    const X pr = dr * wr - di * wi, pi = dr * wi + di * wr;  // 2 O
    A::store(er - pi, a), A::store(ei + pr, a + y.part);
    if (k > 0 && h - k != k) A::store(er + pi, b), A::store(pr - ei, b + y.part);
  }
}

}  // namespace dyadic::DY_ISA
