// Reductions over columns: rows of a slab are added to each other.
#pragma once
#include "ops/reduce/reduce_rows.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kSlabBytes = 4096;  // of one row of a slab: accumulators stay in the first-level cache
inline constexpr int64_t kRowBlock = 256;    // rows added in the compute type before they join the wide sum
inline constexpr int64_t kManyTasks = 32;

// What a slab's width is counted in.
template <class T> constexpr int64_t lane_bytes() { return sizeof(T) < 4 ? 4 : sizeof(T); }

struct ColumnPlan {
  int64_t slab, slabs, chunks, chunk_rows;
};

// Rows are cut only where slabs alone give too little parallel work; all of it depends on the shape alone.
DY_INLINE ColumnPlan plan_columns(const ReduceShape& s, int64_t lane_bytes) {
  ColumnPlan p;
  p.slab = kSlabBytes / lane_bytes;
  p.slabs = (s.inner + p.slab - 1) / p.slab;
  const int64_t tasks = max_of(1, s.outer * p.slabs), blocks = max_of(1, (s.n + kRowBlock - 1) / kRowBlock);
  p.chunks = tasks >= kManyTasks ? 1 : min_of(blocks, 2 * kManyTasks / tasks);
  p.chunk_rows = (blocks + p.chunks - 1) / p.chunks * kRowBlock;
  p.chunks = max_of(1, (s.n + p.chunk_rows - 1) / p.chunk_rows);
  return p;
}

// Adds kRows rows to a slab's sums, or begins them. ahead: elements to the next rows, if they are to be fetched: short rows
// that lie apart, which the machine has no time to see. (Neighbouring ones it sees: 32 MB of two columns take 1.2 ms with
// fetching, 0.5 without.)
template <int kRows, bool kBegin, class Op, class D, class E>
DY_INLINE void add_rows(const Op& op, D d, typename Op::Lane* sum, const E* const (&x)[kRows], int64_t j, int64_t ahead) {
  if (ahead) {
    for (const E* row : x) __builtin_prefetch(row + j + ahead);
  }
  auto row = [&](int k) { return op.map(d, load_lanes(d, x[k] + j)); };
  auto value = row(0);
  if constexpr (kRows == 4) value = op.merge(d, op.merge(d, value, row(1)), op.merge(d, row(2), row(3)));
  if constexpr (!kBegin) value = op.merge(d, hn::LoadU(d, sum + j), value);
  if constexpr (kRows < 4) {
    for (int k = 1; k < kRows; k++) value = op.merge(d, value, row(k));
  }
  hn::StoreU(value, d, sum + j);
}
template <int kRows, bool kBegin, class Op, class E>
void add_slab(const Op& op, typename Op::Lane* sum, const E* const (&x)[kRows], int64_t width, int64_t ahead) {
  constexpr hn::ScalableTag<typename Op::Lane> d;
  constexpr hn::CappedTag<typename Op::Lane, 1> one;
  constexpr int64_t kSize = hn::MaxLanes(d);
  int64_t j = 0;
  for (; j + kSize <= width; j += kSize) add_rows<kRows, kBegin>(op, d, sum, x, j, ahead);
  for (; j < width; j++) add_rows<kRows, kBegin>(op, one, sum, x, j, 0);
}

// Rows [0, rows) of a slab of `width` columns that starts at element `at`, into wide[width].
template <class Op>
void reduce_slab(const Op& op, const Tiles<typename Op::Lane>& x, int64_t at, int64_t row_step, int64_t rows, int64_t width,
                 typename Op::Wide* wide) {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  constexpr int64_t kWidth = kSlabBytes / sizeof(T);
  alignas(64) T sum[kWidth], buffer[4][kWidth];
  const int64_t ahead = row_step == width || rows <= 4 ? 0 : 4 * row_step;
  auto add = [&]<int kRows, bool kBegin>(int64_t from) {
    if constexpr (std::is_same_v<T, float>) {
      if (x.halves) {
        const BFloat* row[kRows];
        for (int64_t k = 0; k < kRows; k++) row[k] = static_cast<const BFloat*>(x.x.data) + from + k * row_step;
        return add_slab<kRows, kBegin>(op, sum, row, width, ahead);
      }
    }
    const T* row[kRows];
    for (int64_t k = 0; k < kRows; k++) row[k] = x.read(from + k * row_step, width, buffer[k]);
    add_slab<kRows, kBegin>(op, sum, row, width, row[0] == buffer[0] ? 0 : ahead);
  };
  auto begin_with = [&](int64_t from, int64_t count) {
    if (count >= 4) return add.template operator()<4, true>(from);
    if (count == 3) return add.template operator()<3, true>(from);
    if (count == 2) return add.template operator()<2, true>(from);
    add.template operator()<1, true>(from);
  };
  auto end_with = [&](int64_t from, int64_t count) {
    if (count == 3) return add.template operator()<3, false>(from);
    if (count == 2) return add.template operator()<2, false>(from);
    if (count == 1) add.template operator()<1, false>(from);
  };
  for (int64_t j = 0; j < width && rows == 0; j++) wide[j] = static_cast<W>(op.identity());
  for (int64_t block = 0; block < rows; block += kRowBlock) {
    const int64_t end = min_of(rows, block + kRowBlock);
    begin_with(at + block * row_step, end - block);
    int64_t r = block + 4;
    for (; r + 4 <= end; r += 4) add.template operator()<4, false>(at + r * row_step);
    end_with(at + r * row_step, end - r);
    const auto none = static_cast<W>(op.identity());
    for (int64_t j = 0; j < width; j++) wide[j] = op.merge(block == 0 ? none : wide[j], static_cast<W>(sum[j]));
  }
}

// Few neighbouring columns: as many rows as fill whole lanes, Note [Virtual lanes], are one. A block of them is read once for
// each 128 bytes of such a row, which stay in registers, and halves of the row are added in the end. (By reduce_slab 32 MB of
// two columns took 1.1 ms, this way 0.55.)
inline constexpr int64_t kFewColumns = 16;
template <class Op> struct FewColumns {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  static constexpr int64_t kCount = Lanes<Op>::kCount, kMost = 8192 / sizeof(W), kBlock = 16384 / sizeof(T);

  int64_t width, together = kCount;  // rows in one
  explicit FewColumns(int64_t columns) : width(columns) {
    while (together > 1 && width * together / 2 % kCount == 0) together /= 2;
  }
  bool fits(int64_t rows) const {
    const int64_t row = width * together;
    return row == kCount || (width <= kFewColumns && row <= kMost && rows >= 4 * together);
  }

  void reduce(const Op& op, const Tiles<T>& x, int64_t at, int64_t rows, W* wide) const {
    alignas(64) T buffer[kBlock], block[kMost];
    W sum[kMost];
    const int64_t row = width * together, size = kBlock / row * row;
    for (int64_t j = 0; j < row; j++) sum[j] = static_cast<W>(op.identity());
    auto add = [&](const auto* from, int64_t n) {
      for (int64_t j = 0; j < n; j++) sum[j] = op.merge(sum[j], static_cast<W>(from[j]));
    };
    for (int64_t i = 0, n = rows * width; i < n; i += size) {
      const int64_t count = min_of(size, n - i);
      x.with(at + i, count, buffer, [&](const auto* e) {
        for (int64_t j = 0; j < row; j += kCount)
          Lanes<Op>(op, e + j, count - j, row, row == kCount ? nullptr : e + size + j * (size / row)).store(block + j);
      });
      add(block, row);
    }
    for (int64_t half = together / 2; half > 0; half /= 2) add(sum + half * width, half * width);
    for (int64_t j = 0; j < width; j++) wide[j] = sum[j];
  }
};

template <class W> void reduce_columns(const ReduceShape& s, const ColumnPlan& p, W* partial, const Steps<W>& steps) {
  constexpr int64_t kWidth = kSlabBytes / 4;
  const int64_t work = min_of(p.slab, s.inner) * min_of(p.chunk_rows, s.n);
  parallel_for(s.outer * p.chunks * p.slabs, max_of(1, 32768 / max_of(work, 1)), [&](int64_t begin, int64_t end) {
    W wide[kWidth];
    for (int64_t t = begin; t < end; t++) {
      const int64_t slab = t % p.slabs * p.slab, chunk = t / p.slabs % p.chunks, outer = t / (p.slabs * p.chunks);
      const int64_t first = chunk * p.chunk_rows, width = min_of(p.slab, s.inner - slab);
      const int64_t at = outer * s.inner + slab;
      W* out = p.chunks == 1 ? steps.place(at, wide) : partial + (outer * p.chunks + chunk) * s.inner + slab;
      steps.slab(outer * s.outer_step() + first * s.inner + slab, s.inner, min_of(p.chunk_rows, s.n - first), width, first,
                 out);
      if (p.chunks == 1) steps.write(at, width, out);
    }
  });
  if (p.chunks == 1) return;
  parallel_for(s.outer * p.slabs, max_of(1, 32768 / (p.slab * p.chunks)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) {
      const int64_t slab = t % p.slabs * p.slab, outer = t / p.slabs, width = min_of(p.slab, s.inner - slab);
      W* sum = partial + outer * p.chunks * s.inner + slab;
      for (int64_t c = 1; c < p.chunks; c++) steps.merge(sum, sum + c * s.inner, width);
      steps.write(outer * s.inner + slab, width, sum);
    }
  });
}

}  // namespace dyadic::DY_ISA
