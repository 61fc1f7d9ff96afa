// The register tile of convolutions, Note [Convolution as a product]: c[row, NV vectors] += a[row, step] b[step, NV vectors],
// where element (row, step) of `a` lies at row_at[row] + step_at[step]. Only for files compiled per instruction set.
#pragma once
#include "loops/gemm_micro.h"

namespace dyadic::DY_ISA {

template <class T> struct OffsetTile {
  int64_t rows, steps;
  const T* a;
  const int64_t *row_at, *step_at;
  const T* b;      // steps rows of kMicroCols
  T* c;            // rows of kMicroCols
  const T* start;  // one row, what the sums begin with; null: with c
};

template <int MR, int NV, class T> [[gnu::noinline]] DY_AS_IT_IS static void offset_micro(const OffsetTile<T>& g) {
  constexpr hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t L = kLanes<T>;
  V acc[MR][NV];
  DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] = hn::Zero(d);
  const T *row[MR], *b = g.b;
  DY_UNROLL for (int i = 0; i < MR; ++i) row[i] = g.a + g.row_at[i];
  for (const int64_t *at = g.step_at, *end = at + g.steps; at != end; ++at) {
    const int64_t step = *at;
    V bv[NV];
    DY_UNROLL for (int j = 0; j < NV; ++j) bv[j] = hn::LoadU(d, b + j * L);
    DY_UNROLL for (int i = 0; i < MR; ++i) {
      const V av = hn::Set(d, row[i][step]);
      DY_UNROLL for (int j = 0; j < NV; ++j) acc[i][j] = hn::MulAdd(av, bv[j], acc[i][j]);
    }
    b += 2 * L;
  }
  DY_UNROLL for (int i = 0; i < MR; ++i) DY_UNROLL for (int j = 0; j < NV; ++j) {
    T* to = g.c + i * 2 * L + j * L;
    hn::StoreU(hn::Add(acc[i][j], hn::LoadU(d, g.start ? g.start + j * L : to)), d, to);
  }
}
template <int NV, class T> static void offset_rows(OffsetTile<T> g) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int64_t wide = NV * kLanes<T>;
  for (int64_t i = 0; i < g.rows; ++i) {
    for (int64_t j = 0; j < g.steps; ++j) check_region(g.a + g.row_at[i] + g.step_at[j], 1);
    check_region(g.c + i * kMicroCols<T>, wide);
  }
  for (int64_t j = 0; j < g.steps; ++j) check_region(g.b + j * kMicroCols<T>, wide);
  if (g.start) check_region(g.start, wide);
#endif
  while (g.rows > 0) {
    const int64_t rows = next_rows(g.rows);
    if (rows == kMicroRows) {
      offset_micro<kMicroRows, NV>(g);
    } else if (kMicroRows > 8 && rows == 8) {
      if constexpr (kMicroRows > 8) offset_micro<8, NV>(g);
    } else if (rows == 4) {
      offset_micro<4, NV>(g);
    } else if (rows == 2) {
      offset_micro<2, NV>(g);
    } else {
      offset_micro<1, NV>(g);
    }
    g.rows -= rows, g.row_at += rows, g.c += rows * kMicroCols<T>;
  }
}
// `lanes` of the panel's columns are wanted.
template <class T> static void offset_product(const OffsetTile<T>& g, int64_t lanes) {
  lanes > kLanes<T> ? offset_rows<2>(g) : offset_rows<1>(g);
}

}  // namespace dyadic::DY_ISA
