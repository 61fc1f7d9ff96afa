// Reductions over rows of few elements: many of them a tile, turned so that they lie side by side in vectors.
#pragma once
#include "loops/strided_few.h"
#include "loops/transpose_tile.h"
#include "ops/reduce/reduce_rows.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kShortRow = 32;   // elements of a row
inline constexpr int64_t kShortInner = 8;  // as many of them side by side at most

// `rows` of `size` elements that lie `step` apart: element i of row r to turned[i * rows + r].
template <class T> void turn_rows(const Tiles<T>& x, int64_t at, int64_t step, int64_t rows, int64_t size, T* turned) {
  alignas(64) T buffer[kSumBlock];
  const T* from = x.read_rows(at, rows, size, step, buffer);
  char* to = reinterpret_cast<char*>(turned);
  constexpr int64_t kWidth = sizeof(T);
  const bool few = step == size && with_few(size, [&](auto n) { part_rows<n()>(to, rows * kWidth, from, rows); });
  if (few) return;
  transpose_tile<kWidth, false>(to, rows * kWidth, reinterpret_cast<const char*>(from), step * kWidth, rows, size);
}

// f(x, step, to) for each of the `inner` columns of turned rows, whose element i lies at x + i * step: `rows` results to `to`.
template <class T, class W, class F> DY_INLINE void for_turned(const T* turned, int64_t rows, int64_t inner, W* out, F&& f) {
  W results[kBatch];
  for (int64_t j = 0; j < inner; j++) {
    f(turned + j * rows, inner * rows, inner == 1 ? out : results);
    for (int64_t r = 0; r < rows && inner > 1; r++) out[r * inner + j] = results[r];
  }
}

// Rows are merged element after element, in the wide type where it is wider.
template <class Op>
void reduce_short_rows(const Op& op, const Tiles<typename Op::Lane>& x, int64_t at, int64_t step, int64_t rows, int64_t n,
                       int64_t inner, typename Op::Wide* out) {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  using A = std::conditional_t<(sizeof(T) < sizeof(W)), W, T>;
  constexpr hn::ScalableTag<A> many;
  constexpr hn::CappedTag<A, 1> one;
  constexpr int64_t kSize = hn::MaxLanes(many);
  alignas(64) T turned[kSumBlock];
  turn_rows(x, at, step, rows, n * inner, turned);
  for_turned(turned, rows, inner, out, [&](const T* column, int64_t apart, W* to) {
    auto merge = [&](auto d, int64_t r) {
      constexpr hn::Rebind<T, decltype(d)> narrow;
      auto value = hn::Set(d, static_cast<A>(op.identity()));
      for (int64_t i = 0; i < n; i++) {
        const auto next = op.map(narrow, hn::LoadU(narrow, column + i * apart + r));
        if constexpr (std::is_same_v<A, T>) value = op.merge(d, value, next);
        if constexpr (!std::is_same_v<A, T>) value = op.merge(d, value, hn::PromoteTo(d, next));
      }
      if constexpr (std::is_same_v<A, W>) return hn::StoreU(value, d, to + r);
      alignas(64) A merged[kSize];
      hn::Store(value, d, merged);
      for (int64_t k = 0; k < static_cast<int64_t>(hn::MaxLanes(d)); k++) to[r + k] = static_cast<W>(merged[k]);
    };
    int64_t r = 0;
    for (; r + kSize <= rows; r += kSize) merge(many, r);
    if (r < rows && rows >= kSize) merge(many, rows - kSize);
    for (; r < rows && rows < kSize; r++) merge(one, r);
  });
}

// Batches of rows are whole lines of elements, which turn without remainder.
template <class W> void reduce_short(const ReduceShape& shape, const Steps<W>& steps) {
  const int64_t n = shape.n, inner = shape.inner, step = shape.outer_step(), size = n * inner;
  const int64_t batch = min_of(kBatch / inner, kSumBlock / max_of(size, 1)) / 16 * 16;
  parallel_for(shape.outer, max_of(1, kRowChunk / max_of(size, 1)), [&](int64_t begin, int64_t end) {
    W values[kBatch];
    for (int64_t o = begin; o < end; o += batch) {
      const int64_t count = min_of(batch, end - o);
      W* out = steps.place(o * inner, values);
      steps.short_rows(o * step, step, count, n, inner, out);
      steps.write(o * inner, count * inner, out);
    }
  });
}

}  // namespace dyadic::DY_ISA
