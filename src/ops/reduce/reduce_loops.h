// The loops of all reductions, over an operation `op` with
//   Lane               element type of the vectors,
//   Wide               type in which blocks are combined and results leave,
//   identity()         a Lane,
//   map(d, v)          what elements contribute,
//   merge(d, a, b)     of two vectors; merge(a, b) of two Wides,
//   finish(w, n)       turns n combined values into results, in place.
// Rows (inner = 1) are in reduce_rows.h, short ones in reduce_short.h, columns (inner > 1) in reduce_columns.h. What depends on
// the operation is a small function each; the cutting and threading is compiled once per Wide.
#pragma once
#include "ops/reduce/reduce_columns.h"
#include "ops/reduce/reduce_short.h"

namespace dyadic::DY_ISA {

template <class W> void reduce_shape(const ReduceShape& shape, int64_t lane_bytes, void* workspace, const Steps<W>& steps) {
  if (shape.outer * shape.inner == 0) return;
  if (shape.n <= kShortRow && shape.inner <= kShortInner && shape.pieces == 1 && (shape.inner == 1 || shape.outer > 1))
    return reduce_short(shape, steps);
  if (shape.inner == 1) return reduce_rows(shape, steps);
  reduce_columns(shape, plan_columns(shape, lane_bytes), static_cast<W*>(workspace), steps);
}

template <class Op> void reduce_with(const Op& op, const ReduceShape& shape, Source source, Target y, void* workspace) {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  const Tiles<T> x(source);
  auto chunk = [&](int64_t at, int64_t n, int64_t) { return reduce_chunk(op, x, at, n); };
  auto short_rows = [&](int64_t at, int64_t step, int64_t outer, int64_t n, int64_t inner, W* out) {
    reduce_short_rows(op, x, at, step, outer, n, inner, out);
  };
  auto slab = [&](int64_t at, int64_t step, int64_t rows, int64_t width, int64_t, W* out) {
    const FewColumns<Op> few(width);
    if (step == width && few.fits(rows)) return few.reduce(op, x, at, rows, out);
    reduce_slab(op, x, at, step, rows, width, out);
  };
  auto merge = [&](W* into, const W* from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = op.merge(into[i], from[i]);
  };
  W* results = y.format == &compute_format(kComputeOf<W>) ? static_cast<W*>(y.data) : nullptr;
  auto write = [&](int64_t at, int64_t n, W* values) {
    op.finish(values, n);
    if (!results || values != results + at) write_results(y, at, n, values);
  };
  reduce_shape<W>(shape, lane_bytes<T>(), workspace, {chunk, short_rows, slab, merge, write, results});
}

// In reduce_extrema_kernel.cpp: max, min, extremes, argmax, argmin.
void reduce_extrema(ReduceOp op, const ReduceShape& shape, Source x, Target y, Target high, void* workspace);
int64_t extrema_workspace(ReduceOp op, const ReduceShape& shape, const Format& x);
// In reduce_logsumexp_kernel.cpp.
void reduce_logsumexp(const ReduceShape& shape, Source x, Target y, void* workspace);
int64_t logsumexp_workspace(const ReduceShape& shape, const Format& x);

// In reduce_moments_kernel.cpp.
void reduce_moments(const ReduceShape& shape, Source x, Target squares, Target mean, void* workspace);
int64_t moments_workspace(const ReduceShape& shape, const Format& x);

}  // namespace dyadic::DY_ISA
