// Products of small matrices, many of them or of many rows: b becomes vectors on the stack, rows of c are made four at a time;
// where that would leave the vectors mostly empty, c is made number by number.
// Only for files that are compiled per instruction set.
#pragma once
#include "loops/gemm_kernel.h"
#include "loops/gemm_pack.h"

namespace dyadic::DY_ISA {

template <int M, int V, class S, class T, class O>
static DY_INLINE void tiny_rows(const GemmTile& t, const S* a, O* c, const T (*b)[V * kLanes<T>], const T* bias) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t L = kLanes<T>;
  hn::Vec<decltype(d)> acc[M][V];
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v) acc[i][v] = hn::Zero(d);
  for (int64_t p = 0; p < t.k; ++p) {
    hn::Vec<decltype(d)> row[V];
    for (int v = 0; v < V; ++v) row[v] = hn::Load(d, b[p] + v * L);
    for (int i = 0; i < M; ++i) {
      const auto x = hn::Set(d, load1<T>(a + i * t.a_row + p * t.a_col));
      for (int v = 0; v < V; ++v) acc[i][v] = hn::MulAdd(x, row[v], acc[i][v]);
    }
  }
  for (int i = 0; i < M; ++i) {
    alignas(64) T out[V * L];
    for (int v = 0; v < V; ++v) hn::Store(acc[i][v], d, out + v * L);
    for (int64_t j = 0; j < t.n; ++j) {
      T x = out[j];
      O* to = c + i * t.c_row + j * t.c_col;
      if (bias) x = x + bias[i * t.bias_row + j * t.bias_col];
      if (t.accumulate) x = x + load1<T>(to);
      store1(x, to);
    }
  }
}

template <int V, class S, class T, class O> static void tiny_of(const GemmTile& t, const GemmBatch& batch) {
  constexpr int64_t kCols = V * kLanes<T>;
  alignas(64) T b[kTinyDepth][kCols];
  for (int64_t p = 0; p < t.k; ++p) zero_row(b[p] + t.n, kCols - t.n);
  const S* last = nullptr;
  for (int64_t e = 0; e < batch.count; ++e) {
    const S* from = (const S*)t.b + e * batch.b_step;
    if (from != last) {
      for (int64_t p = 0; p < t.k; ++p)
        for (int64_t j = 0; j < t.n; ++j) b[p][j] = load1<T>(from + p * t.b_row + j * t.b_col);
      last = from;
    }
    const S* a = (const S*)t.a + e * batch.a_step;
    O* c = (O*)t.c + e * batch.c_step;
    const T* bias = (const T*)t.bias;
    int64_t i = 0;
    auto next = [&](int rows) { i += rows, a += rows * t.a_row, c += rows * t.c_row, bias += bias ? rows * t.bias_row : 0; };
    for (; i + 4 <= t.m; next(4)) tiny_rows<4, V>(t, a, c, b, bias);
    if (i + 2 <= t.m) tiny_rows<2, V>(t, a, c, b, bias), next(2);
    if (i < t.m) tiny_rows<1, V>(t, a, c, b, bias);
  }
}
// One column of c, number by number: a vector would have one of them. K: as many terms, or 0 where they are not known.
template <int K, class S, class T, class O>
static DY_INLINE void tiny_column(const GemmTile& t, const S* a, const S* b, O* c, const T* bias) {
  constexpr hn::CappedTag<T, 1> one;
  const int64_t k = K ? K : t.k;
  hn::Vec<decltype(one)> x[K ? K : kTinyDepth];
  for (int64_t p = 0; p < k; ++p) x[p] = hn::Set(one, load1<T>(b + p * t.b_row));
  for (int64_t i = 0; i < t.m; ++i, a += t.a_row, c += t.c_row) {
    auto sum = hn::Zero(one);
    for (int64_t p = 0; p < k; ++p) sum = hn::MulAdd(hn::Set(one, load1<T>(a + p * t.a_col)), x[p], sum);
    T y = hn::GetLane(sum);
    if (bias) y = y + bias[i * t.bias_row];
    if (t.accumulate) y = y + load1<T>(c);
    store1(y, c);
  }
}
template <int K, class S, class T, class O> static void tiny_columns(const GemmTile& t, const GemmBatch& batch) {
  const S *a = (const S*)t.a, *b = (const S*)t.b;
  O* c = (O*)t.c;
  for (int64_t e = 0; e < batch.count; ++e, a += batch.a_step, b += batch.b_step, c += batch.c_step)
    for (int64_t j = 0; j < t.n; ++j)
      tiny_column<K>(t, a, b + j * t.b_col, c + j * t.c_col, t.bias ? (const T*)t.bias + j * t.bias_col : nullptr);
}

// c^T = b^T a^T: few rows for every b become few columns.
static inline void turn(GemmTile& t, GemmBatch& batch) {
  const GemmTile u = t;
  t.m = u.n, t.n = u.m;
  t.a = u.b, t.a_row = u.b_col, t.a_col = u.b_row;
  t.b = u.a, t.b_row = u.a_col, t.b_col = u.a_row;
  t.c_row = u.c_col, t.c_col = u.c_row, t.bias_row = u.bias_col, t.bias_col = u.bias_row;
  const int64_t step = batch.a_step;
  batch.a_step = batch.b_step, batch.b_step = step;
}
template <class S, class T, class O> static void tiny(const GemmTile& t, const GemmBatch& batch) {
  constexpr int64_t kNarrow = 4;  // columns that a vector would be mostly empty for
  const bool own = batch.count > 1 && batch.b_step != 0, rows = own && t.m <= 2 && t.m < t.n && t.n <= kNarrow;
  if (t.n == 1 || rows || (own && t.n == 2)) {
    GemmTile tile = t;
    GemmBatch entries = batch;
    if (rows) turn(tile, entries);
    switch (t.k) {
      case 1:
        return tiny_columns<1, S, T, O>(tile, entries);
      case 2:
        return tiny_columns<2, S, T, O>(tile, entries);
      case 3:
        return tiny_columns<3, S, T, O>(tile, entries);
      case 4:
        return tiny_columns<4, S, T, O>(tile, entries);
      default:
        return tiny_columns<0, S, T, O>(tile, entries);
    }
  }
  constexpr int kVectors = int(kTinyCols<T> / kLanes<T>);
  if (t.n <= kLanes<T>) return tiny_of<1, S, T, O>(t, batch);
  if constexpr (kVectors > 2)
    if (t.n <= 2 * kLanes<T>) return tiny_of<2, S, T, O>(t, batch);
  return tiny_of<kVectors, S, T, O>(t, batch);
}

}  // namespace dyadic::DY_ISA
