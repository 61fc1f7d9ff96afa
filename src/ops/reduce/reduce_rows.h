// Reductions over rows: down lanes, Note [Virtual lanes].
#pragma once
#include "ops/reduce/reduce_lanes.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kRowChunk = 65536;  // elements; a multiple of kSumBlock
inline constexpr int64_t kMaxChunks = 64;    // of one row
inline constexpr int64_t kManyRows = 32;     // from here on rows alone keep the threads busy
inline constexpr int64_t kShortPiece = 256;  // pieces up to here are added to each other before they are folded

// The length of the pieces whose results are combined in order: depends on n alone.
DY_INLINE int64_t row_chunk(int64_t n) {
  const int64_t even = ((n + kMaxChunks - 1) / kMaxChunks + kSumBlock - 1) / kSumBlock * kSumBlock;
  return max_of(kRowChunk, even);
}

// A vector's lanes as a tree of halves.
template <class Op, class D> DY_INLINE typename Op::Lane fold_halves(const Op& op, D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    constexpr hn::Half<D> half;
    return fold_halves(op, half, op.merge(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

template <class Op> struct Lanes {
  using T = typename Op::Lane;
  static constexpr hn::ScalableTag<T> kTag{};
  static constexpr int64_t kSize = hn::MaxLanes(kTag), kCount = kSumLanes<T>, kVectors = kCount / kSize;
  hn::Vec<hn::ScalableTag<T>> lane[kVectors];

  // n elements down the lanes, or of each `step` the first kCount; as many are fetched from `ahead` on meanwhile.
  template <class E> DY_INLINE Lanes(const Op& op, const E* x, int64_t n, int64_t step = kCount, const E* ahead = nullptr) {
    for (auto& v : lane) v = hn::Set(kTag, op.identity());
    int64_t i = 0;
    for (; i + kCount <= n; i += step) {
      if (ahead) {
        for (int64_t j = 0; j < kCount; j += 64 / sizeof(E)) __builtin_prefetch(ahead + j);
        ahead += kCount;
      }
      for (int64_t j = 0; j < kVectors; j++)
        lane[j] = op.merge(kTag, lane[j], op.map(kTag, load_lanes(kTag, x + i + j * kSize)));
    }
    for (int64_t j = 0; j < kVectors; j++, i += kSize) {
      if (i >= n) break;
      if (i + kSize <= n) {
        lane[j] = op.merge(kTag, lane[j], op.map(kTag, load_lanes(kTag, x + i)));
      } else {
        const auto sum = op.merge(kTag, lane[j], op.map(kTag, load_lanes(kTag, x + i, n - i)));
        lane[j] = hn::IfThenElse(hn::FirstN(kTag, static_cast<size_t>(n - i)), sum, lane[j]);
      }
    }
  }
  DY_INLINE void store(T* to) const {
    for (int64_t j = 0; j < kVectors; j++) hn::Store(lane[j], kTag, to + j * kSize);
  }
  DY_INLINE T fold(const Op& op) {
    for (int64_t half = kVectors / 2; half > 0; half /= 2) {
      for (int64_t j = 0; j < half; j++) lane[j] = op.merge(kTag, lane[j], lane[j + half]);
    }
    return fold_halves(op, kTag, lane[0]);
  }
};
template <class Op, class E> DY_INLINE typename Op::Wide reduce_block(const Op& op, const E* x, int64_t n) {
  return static_cast<typename Op::Wide>(Lanes<Op>(op, x, n).fold(op));
}

// Elements [at, at + n) of x, block by block.
template <class Op> typename Op::Wide reduce_chunk(const Op& op, const Tiles<typename Op::Lane>& x, int64_t at, int64_t n) {
  using T = typename Op::Lane;
  alignas(64) T buffer[kSumBlock];
  auto result = static_cast<typename Op::Wide>(op.identity());
  for (int64_t i = 0; i < n; i += kSumBlock) {
    const int64_t count = min_of(kSumBlock, n - i);
    result = op.merge(result, x.with(at + i, count, buffer, [&](const auto* e) { return reduce_block(op, e, count); }));
  }
  return result;
}

inline constexpr int64_t kBatch = 256;  // results that are written together

template <class W> void reduce_rows(const ReduceShape& shape, const Steps<W>& steps) {
  const int64_t n = shape.n, step = shape.outer_step(), chunk = row_chunk(n), chunks = max_of(1, (n + chunk - 1) / chunk);
  const bool beside = shape.pieces > 1 && n <= kShortPiece;
  const int64_t all = chunks * shape.pieces;
  const int64_t each = max_of((all + kMaxChunks - 1) / kMaxChunks, beside ? kSumBlock / n : 1), parts = (all + each - 1) / each;
  auto piece = [&](int64_t row, int64_t c) {
    const int64_t first = c % chunks * chunk;
    return steps.chunk(row * step + c / chunks * shape.outer * n + first, min_of(chunk, n - first), c / chunks * n + first);
  };
  auto run = [&](int64_t row, int64_t begin, int64_t end) {
    if (beside) {  // what gives an index is never in pieces
      W values[kShortPiece];
      steps.slab(row * n + begin * shape.outer * n, shape.outer * n, end - begin, n, 0, values);
      for (int64_t left = n, half; left > 1; left = half) {
        half = (left + 1) / 2;
        steps.merge(values, values + half, left - half);
      }
      return values[0];
    }
    W value = piece(row, begin);
    for (int64_t c = begin + 1; c < end; c++) {
      const W next = piece(row, c);
      steps.merge(&value, &next, 1);
    }
    return value;
  };
  if (shape.outer >= kManyRows || parts == 1) {
    parallel_for(shape.outer, max_of(1, kRowChunk / max_of(n * shape.pieces, 1)), [&](int64_t begin, int64_t end) {
      W values[kBatch];
      for (int64_t row = begin; row < end; row += kBatch) {
        const int64_t count = min_of(kBatch, end - row);
        for (int64_t r = 0; r < count; r++) values[r] = run(row + r, 0, all);
        steps.write(row, count, values);
      }
    });
    return;
  }
  W partial[kManyRows * kMaxChunks];
  parallel_for(shape.outer * parts, max_of(1, kRowChunk / max_of(each * min_of(n, chunk), 1)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) {
      const int64_t first = t % parts * each;
      partial[t] = run(t / parts, first, min_of(all, first + each));
    }
  });
  for (int64_t row = 0; row < shape.outer; row++) {
    W value = partial[row * parts];
    for (int64_t c = 1; c < parts; c++) steps.merge(&value, partial + row * parts + c, 1);
    partial[row] = value;  // row <= row * parts: nothing still needed is overwritten
  }
  steps.write(0, shape.outer, partial);
}

}  // namespace dyadic::DY_ISA
