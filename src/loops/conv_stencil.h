// Convolutions with few filters in a group, depthwise ones first of all: positions are the lanes of the register tile, which
// the panels of Note [Convolution as a product] would leave idle. A block is copied as there; with a stride along the last axis
// its rows are then sorted by residue, so that neighbouring positions read neighbouring elements. Only for files compiled per
// instruction set.
#pragma once
#include "loops/conv_block.h"

namespace dyadic::DY_ISA {

// The offsets of step_offsets for the sorted copy.
static inline void stencil_offsets(const ConvPlan& p, const ConvShape& s, int64_t* at) {
  const int64_t step = p.axis[2].step, width = p.extent[2];
  step_offsets(p, s, at);
  for (int64_t c = 0; c < p.together; c++) {
    for (int64_t t = 0; t < p.taps; t++, at++) {
      const int64_t row = (*at - c * p.plane) / width * width, column = *at - c * p.plane - row;
      *at = c * p.plane + row + column % step * (width / step) + column / step;
    }
  }
}
// Where the vectors of a block's runs begin in its copy; how many there are.
template <class T> static int64_t vector_offsets(const ConvPlan& p, const StencilRuns& runs, const int64_t* size, int64_t* at) {
  int64_t* const begin = at;
  for (int64_t i = 0; i < size[0]; i++) {
    for (int64_t j = 0; j < (runs.whole ? 1 : size[1]); j++) {
      const int64_t row = (i * p.axis[0].step * p.extent[1] + j * p.axis[1].step) * p.extent[2];
      for (int64_t k = 0; k < runs.pitch; k += kLanes<T>) *at++ = row + k;
    }
  }
  return at - begin;
}
// The copy's rows sorted by residue: element k * step + r goes to r * (extent / step) + k.
template <class T> static void sort_rows(const ConvPlan& p, int64_t count, T* copy, T* row) {
  const int64_t step = p.axis[2].step, width = p.extent[2], part = width / step;
  if (step <= 1) return;
  for (int64_t c = 0; c < count; c++) {
    for (int64_t i = 0; i < p.extent[0] * p.extent[1]; i++) {
      T* to = copy + c * p.plane + i * width;
      load_row(to, row, width);
      for (int64_t r = 0; r < step; r++) {
        for (int64_t k = 0; k < part; k++) to[r * part + k] = row[k * step + r];
      }
    }
  }
}

template <class T> struct StencilTile {
  int64_t vectors, steps;
  const T* x;
  const int64_t *vector_at, *step_at;  // vector v meets step k at x[vector_at[v] + step_at[k]]
  const T* w;
  int64_t w_filter;  // from filter to filter
  const T* start;    // what the sums of each filter begin with; null: with y
  T* y;
  int64_t y_filter;
};
template <int F, int NV, class T> DY_INLINE void stencil_micro(const StencilTile<T>& g, int64_t v) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t L = kLanes<T>;
  hn::Vec<decltype(d)> acc[F][NV];
  T* y = g.y + v * L;
  DY_UNROLL for (int f = 0; f < F; ++f) DY_UNROLL for (int j = 0; j < NV; ++j) acc[f][j] =
      g.start ? hn::Set(d, g.start[f]) : hn::LoadU(d, y + f * g.y_filter + j * L);
  const T *x[NV], *w = g.w;
  DY_UNROLL for (int j = 0; j < NV; ++j) x[j] = g.x + g.vector_at[v + j];
  for (const int64_t *at = g.step_at, *end = at + g.steps; at != end; ++at, ++w) {
    const int64_t step = *at;
    hn::Vec<decltype(d)> xv[NV];
    DY_UNROLL for (int j = 0; j < NV; ++j) xv[j] = hn::LoadU(d, x[j] + step);
    DY_UNROLL for (int f = 0; f < F; ++f) {
      const auto wv = hn::Set(d, w[f * g.w_filter]);
      DY_UNROLL for (int j = 0; j < NV; ++j) acc[f][j] = hn::MulAdd(wv, xv[j], acc[f][j]);
    }
  }
  DY_UNROLL for (int f = 0; f < F; ++f) DY_UNROLL for (int j = 0; j < NV; ++j)
      hn::StoreU(acc[f][j], d, y + f * g.y_filter + j * L);
}
// Eight sums at a time for one filter: fewer wait for themselves.
template <int F, class T> [[gnu::noinline]] static void stencil_filters(const StencilTile<T>& g) {
  int64_t v = 0;
  if constexpr (F == 1)
    for (; v + 8 <= g.vectors; v += 8) stencil_micro<F, 8>(g, v);
  for (; v + 4 <= g.vectors; v += 4) stencil_micro<F, 4>(g, v);
  if (v + 2 <= g.vectors) stencil_micro<F, 2>(g, v), v += 2;
  if (v < g.vectors) stencil_micro<F, 1>(g, v);
}
template <class T> static void stencil_product(StencilTile<T> g, int64_t filters) {
  constexpr int most = kMicroRows > 8 ? 4 : 2;
  while (filters > 0) {
    const int n = filters >= most ? most : filters >= 2 ? 2 : 1;
    n == 1 ? stencil_filters<1>(g) : n == 2 ? stencil_filters<2>(g) : stencil_filters<most>(g);
    filters -= n, g.w += n * g.w_filter, g.y += n * g.y_filter;
    if (g.start) g.start += n;
  }
}

}  // namespace dyadic::DY_ISA
