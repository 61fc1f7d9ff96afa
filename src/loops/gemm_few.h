// Products with at most kGemmFew rows (matrix times vector and its like): memory-bound, so b is read once, where it lies.
// Only for files that are compiled per instruction set.
#pragma once
#include "loops/gemm_kernel.h"
#include "loops/gemm_pack.h"

namespace dyadic::DY_ISA {

template <class T, class O> static inline void finish1(const GemmTile& t, int64_t i, int64_t j, T x) {
  O* c = (O*)t.c + i * t.c_row + j * t.c_col;
  if (t.bias) x = x + ((const T*)t.bias)[i * t.bias_row + j * t.bias_col];
  if (t.accumulate) x = x + load1<T>(c);
  store1(x, c);
}

// Both sides run along k: M x N dot products at once, each in one vector of partial sums that are folded in halves.
template <int M, int N, class S, class T, class O> static void dots(const GemmTile& t, int64_t j) {
  constexpr hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const S *a = (const S*)t.a, *b = (const S*)t.b + j * t.b_col;
  V acc[M][N];
  for (int i = 0; i < M; ++i)
    for (int q = 0; q < N; ++q) acc[i][q] = hn::Zero(d);
  int64_t p = 0;
  for (; p + kLanes<T> <= t.k; p += kLanes<T>) {
    V av[M];
    for (int i = 0; i < M; ++i) av[i] = load_as(d, a + i * t.a_row + p);
    for (int q = 0; q < N; ++q) {
      const V bv = load_as(d, b + q * t.b_col + p);
      for (int i = 0; i < M; ++i) acc[i][q] = hn::MulAdd(av[i], bv, acc[i][q]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int q = 0; q < N; ++q) {
      T lanes[kLanes<T>];
      hn::StoreU(acc[i][q], d, lanes);
      for (int64_t half = kLanes<T> / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
      T x = lanes[0];
      for (int64_t r = p; r < t.k; ++r) x = x + load1<T>(a + i * t.a_row + r) * load1<T>(b + q * t.b_col + r);
      finish1<T, O>(t, i, j + q, x);
    }
}
template <int M, class S, class T, class O> static void all_dots(const GemmTile& t) {
  int64_t j = 0;
  for (; j + kFewCols <= t.n; j += kFewCols) dots<M, kFewCols, S, T, O>(t, j);
  for (; j < t.n; ++j) dots<M, 1, S, T, O>(t, j);
}
// The same of a b that is decoded: the columns of one step at a time.
template <int M, class S, class T, class O> static void stored_dots(const GemmTile& t, S* columns) {
  for (int64_t j = 0; j < t.n; j += kFewCols) {
    GemmTile part = t;
    part.n = t.n - j < kFewCols ? t.n - j : kFewCols;
    for (int64_t q = 0; q < part.n; ++q)
      read_stored(*t.stored, t.b, t.b_first + (j + q) * t.b_col, t.b_row, t.k, columns + q * t.k);
    part.b = columns, part.b_row = 1, part.b_col = t.k;
    part.c = (O*)t.c + j * t.c_col;
    if (t.bias) part.bias = (const T*)t.bias + j * t.bias_col;
    all_dots<M, S, T, O>(part);
  }
}

// b runs along n: a strip of c stays in L1 while eight rows of b at a time are added to it.
inline constexpr int64_t kStrip = kFewStrip;
template <int R, class S, class T> static void add_rows(const GemmTile& t, int64_t p, int64_t j, int64_t n, T (*acc)[kStrip]) {
  constexpr hn::ScalableTag<T> d;
  const S *a = (const S*)t.a + p * t.a_col, *b = (const S*)t.b + p * t.b_row + j;
  int64_t b_row = t.b_row;
  if (t.stored) {
    S* rows = (S*)t.scratch;
    for (int64_t r = 0; r < R; ++r) read_stored(*t.stored, t.b, t.b_first + (p + r) * t.b_row + j, 1, n, rows + r * kStrip);
    b = rows, b_row = kStrip;
  }
  for (int64_t i = 0; i < t.m; ++i) {
    T s[R];
    for (int r = 0; r < R; ++r) s[r] = load1<T>(a + i * t.a_row + r * t.a_col);
    int64_t q = 0;
    for (; q + kLanes<T> <= n; q += kLanes<T>) {
      auto x = hn::LoadU(d, acc[i] + q);
      for (int r = 0; r < R; ++r) x = hn::MulAdd(hn::Set(d, s[r]), load_as(d, b + r * b_row + q), x);
      hn::StoreU(x, d, acc[i] + q);
    }
    for (; q < n; ++q)
      for (int r = 0; r < R; ++r) acc[i][q] = acc[i][q] + s[r] * load1<T>(b + r * b_row + q);
  }
}
template <class S, class T, class O> static void strips(const GemmTile& t) {
  T acc[kGemmFew][kStrip];
  for (int64_t j = 0; j < t.n; j += kStrip) {
    const int64_t n = t.n - j < kStrip ? t.n - j : kStrip;
    for (int64_t i = 0; i < t.m; ++i) zero_row(acc[i], n);
    int64_t p = 0;
    for (; p + kFewRows <= t.k; p += kFewRows) add_rows<kFewRows, S>(t, p, j, n, acc);
    for (; p < t.k; ++p) add_rows<1, S>(t, p, j, n, acc);
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t q = 0; q < n; ++q) finish1<T, O>(t, i, j + q, acc[i][q]);
  }
}

template <class S, class T, class O> static void few(const GemmTile& tile) {
  if (tile.b_col == 1 && tile.n > 1) return strips<S, T, O>(tile);
  if (tile.b_row != 1 && !tile.stored) return strips<S, T, O>(tile);
  GemmTile t = tile;
  if (t.a_col != 1) {
    S* copy = (S*)t.scratch;
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t p = 0; p < t.k; ++p) copy[i * t.k + p] = ((const S*)t.a)[i * t.a_row + p * t.a_col];
    t.a = copy, t.a_row = t.k, t.a_col = 1;
  }
  if (t.stored) {
    S* columns = (S*)t.scratch + t.m * t.k;
    if (t.m == 4) return stored_dots<4, S, T, O>(t, columns);
    if (t.m == 3) return stored_dots<3, S, T, O>(t, columns);
    if (t.m == 2) return stored_dots<2, S, T, O>(t, columns);
    return stored_dots<1, S, T, O>(t, columns);
  }
  if (t.m == 4) return all_dots<4, S, T, O>(t);
  if (t.m == 3) return all_dots<3, S, T, O>(t);
  if (t.m == 2) return all_dots<2, S, T, O>(t);
  return all_dots<1, S, T, O>(t);
}

}  // namespace dyadic::DY_ISA
