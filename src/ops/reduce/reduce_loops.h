// The loops of all reductions, over an operation `op` with
//   Lane               element type of the vectors,
//   Wide               type in which blocks are combined and results leave,
//   identity()         a Lane,
//   map(d, v)          what elements contribute,
//   merge(d, a, b)     of two vectors; merge(a, b) of two Wides,
//   finish(w, n)       turns n combined values into results, in place.
// Rows (inner = 1) run down lanes, Note [Virtual lanes]; columns (inner > 1) add rows of a slab to each other. What depends on
// the operation is a small function each; the cutting and threading is compiled once per Wide.
#pragma once
#include "loops/lanes.h"
#include "ops/reduce/reduce_kernel.h"

namespace dyadic::DY_ISA {

// Elements of x as lanes of type T, decoded tile by tile; integers widen from i32 to i64 where T asks for it.
template <class T> inline constexpr Compute kComputeOf = Compute::f32;
template <> inline constexpr Compute kComputeOf<double> = Compute::f64;
template <> inline constexpr Compute kComputeOf<int32_t> = Compute::i32;
template <> inline constexpr Compute kComputeOf<int64_t> = Compute::i64;
template <> inline constexpr Compute kComputeOf<uint64_t> = Compute::u64;

// Vectors of elements as they lie, or of bf16, whose bits are the upper half of a float's: decoded into a buffer first they
// took 0.33 ms where 8 MB are read in 0.2.
struct BFloat {
  uint16_t bits;
};
template <class D> DY_INLINE hn::Vec<D> load_lanes(D d, const hn::TFromD<D>* x) { return hn::LoadU(d, x); }
template <class D> DY_INLINE hn::Vec<D> load_lanes(D d, const BFloat* x) {
  constexpr hn::Rebind<uint16_t, D> narrow;
  constexpr hn::RebindToUnsigned<D> wide;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(x)))));
}

template <class T> struct Tiles {
  Source x;
  bool direct, widen, halves;  // halves: bf16

  explicit Tiles(Source source) : x(source) {
    const FormatDef& def = *x.format->def;
    // u64 is read as i64 too: sums and products wrap to the same bits.
    direct = x.format == &compute_format(kComputeOf<T>) || (def.compute == Compute::u64 && kComputeOf<T> == Compute::i64);
    widen = def.compute != kComputeOf<T>;
    halves = std::is_same_v<T, float> && def.bits == 16 && def.mantissa_bits == 7;
  }
  DY_INLINE const T* read(int64_t at, int64_t n, T* buffer) const {
    if (direct) return static_cast<const T*>(x.data) + at;
    if (!widen) {
      x.format->def->decode(element(x, at), buffer, n);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      const Tiles<int32_t> narrow(x);
      alignas(64) int32_t decoded[kSumBlock];
      const int32_t* from = narrow.read(at, n, decoded);
      constexpr hn::ScalableTag<int64_t> d;
      constexpr hn::Rebind<int32_t, hn::ScalableTag<int64_t>> half;
      constexpr int64_t kSize = hn::MaxLanes(d);
      int64_t i = 0;
      for (; i + kSize <= n; i += kSize) hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, from + i)), d, buffer + i);
      for (; i < n; i++) buffer[i] = from[i];
    }
    return buffer;
  }
  // f(elements) with those from `at` on as they are best read: bf16 as it lies.
  template <class F> DY_INLINE auto with(int64_t at, int64_t n, T* buffer, F&& f) const {
    if constexpr (std::is_same_v<T, float>) {
      if (halves) return f(static_cast<const BFloat*>(x.data) + at);
    }
    return f(read(at, n, buffer));
  }
};

// Integers of one or two bytes are compared as they are stored.
template <class T>
  requires(sizeof(T) < 4)
struct Tiles<T> {
  Source x;

  explicit Tiles(Source source) : x(source) {}
  DY_INLINE const T* read(int64_t at, int64_t, T*) const { return static_cast<const T*>(x.data) + at; }
  template <class F> DY_INLINE auto with(int64_t at, int64_t n, T* buffer, F&& f) const { return f(read(at, n, buffer)); }
};

// Results in the wide type of the operation, converted to the target's format as they leave.
template <class W> void write_results(Target y, int64_t at, int64_t n, const W* results) {
  convert(compute_format(kComputeOf<W>), results, *y.format, element(y, at), n);
}

template <class W> struct Steps {
  FunctionRef<W(int64_t at, int64_t n, int64_t first)> chunk;  // n elements, `first` of them before in their row
  FunctionRef<void(int64_t at, int64_t n, int64_t rows, W* out)>
      short_rows;  // rows of n <= kShortRow, kSumBlock elements at most
  FunctionRef<void(int64_t at, int64_t row_step, int64_t rows, int64_t width, int64_t first, W* out)> slab;
  FunctionRef<void(W* into, const W* from, int64_t n)> merge;
  FunctionRef<void(int64_t at, int64_t n, W* values)> write;  // results [at, at + n), from combined values
};

// ---- rows ----

inline constexpr int64_t kRowChunk = 65536;  // elements; a multiple of kSumBlock
inline constexpr int64_t kMaxChunks = 64;    // of one row
inline constexpr int64_t kShortRow = 32;     // rows up to here are added one element after the other, many rows a tile
inline constexpr int64_t kManyRows = 32;     // from here on rows alone keep the threads busy

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

  // n elements down the lanes.
  template <class E> DY_INLINE Lanes(const Op& op, const E* x, int64_t n) {
    for (auto& v : lane) v = hn::Set(kTag, op.identity());
    int64_t i = 0;
    for (; i + kCount <= n; i += kCount) {
      for (int64_t j = 0; j < kVectors; j++)
        lane[j] = op.merge(kTag, lane[j], op.map(kTag, load_lanes(kTag, x + i + j * kSize)));
    }
    if (i == n) return;
    alignas(64) T rest[kCount];
    store(rest);
    constexpr hn::CappedTag<T, 1> one;
    for (int64_t j = 0; i + j < n; j++) {
      hn::StoreU(op.merge(one, hn::LoadU(one, rest + j), op.map(one, load_lanes(one, x + i + j))), one, rest + j);
    }
    for (int64_t j = 0; j < kVectors; j++) lane[j] = hn::Load(kTag, rest + j * kSize);
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

// `count` rows of n <= kShortRow elements.
template <class Op>
void reduce_short_rows(const Op& op, const Tiles<typename Op::Lane>& x, int64_t at, int64_t n, int64_t count,
                       typename Op::Wide* out) {
  using T = typename Op::Lane;
  constexpr hn::CappedTag<T, 1> one;
  alignas(64) T buffer[kSumBlock];
  const T* from = x.read(at, n * count, buffer);
  for (int64_t r = 0; r < count; r++) {
    auto value = static_cast<typename Op::Wide>(op.identity());
    for (int64_t i = 0; i < n; i++) {
      value = op.merge(value, static_cast<typename Op::Wide>(hn::GetLane(op.map(one, hn::LoadU(one, from + r * n + i)))));
    }
    out[r] = value;
  }
}

template <class W> void reduce_rows(const ReduceShape& shape, const Steps<W>& steps) {
  const int64_t n = shape.n, step = shape.outer_step(), chunk = row_chunk(n), chunks = max_of(1, (n + chunk - 1) / chunk);
  auto piece = [&](int64_t row, int64_t c) {
    return steps.chunk(row * step + c * chunk, min_of(chunk, n - c * chunk), c * chunk);
  };
  if (shape.outer >= kManyRows || chunks == 1) {
    parallel_for(shape.outer, max_of(1, kRowChunk / max_of(n, 1)), [&](int64_t begin, int64_t end) {
      constexpr int64_t kBatch = 256;
      W values[kBatch];
      const bool short_rows = n <= kShortRow;
      const int64_t batch = short_rows ? min_of(kBatch, kSumBlock / max_of(n, 1)) : kBatch;
      for (int64_t row = begin; row < end; row += batch) {
        const int64_t count = min_of(batch, end - row);
        if (short_rows && step == n) steps.short_rows(row * n, n, count, values);
        for (int64_t r = 0; r < count && short_rows && step != n; r++) steps.short_rows((row + r) * step, n, 1, values + r);
        for (int64_t r = 0; r < count && !short_rows; r++) {
          values[r] = piece(row + r, 0);
          for (int64_t c = 1; c < chunks; c++) {
            const W next = piece(row + r, c);
            steps.merge(values + r, &next, 1);
          }
        }
        steps.write(row, count, values);
      }
    });
    return;
  }
  W partial[kManyRows * kMaxChunks];
  parallel_for(shape.outer * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) partial[t] = piece(t / chunks, t % chunks);
  });
  for (int64_t row = 0; row < shape.outer; row++) {
    W value = partial[row * chunks];
    for (int64_t c = 1; c < chunks; c++) steps.merge(&value, partial + row * chunks + c, 1);
    partial[row] = value;  // row <= row * chunks: nothing still needed is overwritten
  }
  steps.write(0, shape.outer, partial);
}

// ---- columns ----

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

// Adds kRows rows to a slab's sums. ahead: elements to the next rows, if they are to be fetched: short rows that lie apart,
// which the machine has no time to see. (Neighbouring ones it sees: 32 MB of two columns take 1.2 ms with fetching, 0.5
// without.)
template <int kRows, class Op, class D, class E>
DY_INLINE void add_rows(const Op& op, D d, typename Op::Lane* sum, const E* const (&x)[kRows], int64_t j, int64_t ahead) {
  if (ahead) {
    for (const E* row : x) __builtin_prefetch(row + j + ahead);
  }
  auto value = op.map(d, load_lanes(d, x[0] + j));
  if constexpr (kRows == 4) {
    value = op.merge(d, value, op.map(d, load_lanes(d, x[1] + j)));
    value = op.merge(d, value, op.merge(d, op.map(d, load_lanes(d, x[2] + j)), op.map(d, load_lanes(d, x[3] + j))));
  }
  hn::StoreU(op.merge(d, hn::LoadU(d, sum + j), value), d, sum + j);
}
template <int kRows, class Op, class E>
void add_slab(const Op& op, typename Op::Lane* sum, const E* const (&x)[kRows], int64_t width, int64_t ahead) {
  constexpr hn::ScalableTag<typename Op::Lane> d;
  constexpr hn::CappedTag<typename Op::Lane, 1> one;
  constexpr int64_t kSize = hn::MaxLanes(d);
  int64_t j = 0;
  for (; j + kSize <= width; j += kSize) add_rows(op, d, sum, x, j, ahead);
  for (; j < width; j++) add_rows(op, one, sum, x, j, 0);
}

// Rows [0, rows) of a slab of `width` columns that starts at element `at`, into wide[width].
template <class Op>
void reduce_slab(const Op& op, const Tiles<typename Op::Lane>& x, int64_t at, int64_t row_step, int64_t rows, int64_t width,
                 typename Op::Wide* wide) {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  constexpr int64_t kWidth = kSlabBytes / sizeof(T);
  alignas(64) T sum[kWidth], buffer[4][kWidth];
  const int64_t ahead = row_step == width ? 0 : 4 * row_step;
  auto four = [&](int64_t from) {
    if constexpr (std::is_same_v<T, float>) {
      if (x.halves) {
        const auto* p = static_cast<const BFloat*>(x.x.data) + from;
        return add_slab<4>(op, sum, {p, p + row_step, p + 2 * row_step, p + 3 * row_step}, width, ahead);
      }
    }
    const T* row[4];
    for (int64_t k = 0; k < 4; k++) row[k] = x.read(from + k * row_step, width, buffer[k]);
    add_slab<4>(op, sum, row, width, row[0] == buffer[0] ? 0 : ahead);
  };
  for (int64_t j = 0; j < width; j++) wide[j] = static_cast<W>(op.identity());
  for (int64_t block = 0; block < rows; block += kRowBlock) {
    const int64_t end = min_of(rows, block + kRowBlock);
    for (int64_t j = 0; j < width; j++) sum[j] = op.identity();
    int64_t r = block;
    for (; r + 4 <= end; r += 4) four(at + r * row_step);
    for (; r < end; r++) add_slab<1>(op, sum, {x.read(at + r * row_step, width, buffer[0])}, width, 0);
    for (int64_t j = 0; j < width; j++) wide[j] = op.merge(wide[j], static_cast<W>(sum[j]));
  }
}

// Few neighbouring columns, whose number divides that of the lanes: a column runs down some lanes, which are merged in the end.
// (In rows of 256 elements, four at a time, memory was read in four streams: 32 MB of complex numbers in 0.9 ms, this way 0.4.)
template <class Op> constexpr bool is_narrow(int64_t width) {
  constexpr int64_t kCount = Lanes<Op>::kCount;
  return width <= kCount && kCount % width == 0;
}
template <class Op>
void reduce_narrow_slab(const Op& op, const Tiles<typename Op::Lane>& x, int64_t at, int64_t rows, int64_t width,
                        typename Op::Wide* wide) {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  constexpr int64_t kCount = Lanes<Op>::kCount;
  alignas(64) T buffer[kSumBlock], block[kCount];
  W sum[kCount];
  for (W& w : sum) w = static_cast<W>(op.identity());
  for (int64_t i = 0, n = rows * width; i < n; i += kSumBlock) {
    const int64_t count = min_of(kSumBlock, n - i);
    Lanes<Op>(op, x.read(at + i, count, buffer), count).store(block);
    for (int64_t j = 0; j < kCount; j++) sum[j] = op.merge(sum[j], static_cast<W>(block[j]));
  }
  for (int64_t j = 0; j < width; j++) {
    wide[j] = sum[j];
    for (int64_t k = j + width; k < kCount; k += width) wide[j] = op.merge(wide[j], sum[k]);
  }
}

template <class W> void reduce_columns(const ReduceShape& s, const ColumnPlan& p, W* partial, const Steps<W>& steps) {
  constexpr int64_t kWidth = kSlabBytes / 4;
  const int64_t work = min_of(p.slab, s.inner) * min_of(p.chunk_rows, s.n);
  parallel_for(s.outer * p.chunks * p.slabs, max_of(1, 32768 / max_of(work, 1)), [&](int64_t begin, int64_t end) {
    W wide[kWidth];
    for (int64_t t = begin; t < end; t++) {
      const int64_t slab = t % p.slabs * p.slab, chunk = t / p.slabs % p.chunks, outer = t / (p.slabs * p.chunks);
      const int64_t first = chunk * p.chunk_rows, width = min_of(p.slab, s.inner - slab);
      W* out = p.chunks == 1 ? wide : partial + (outer * p.chunks + chunk) * s.inner + slab;
      steps.slab(outer * s.outer_step() + first * s.inner + slab, s.inner, min_of(p.chunk_rows, s.n - first), width, first,
                 out);
      if (p.chunks == 1) steps.write(outer * s.inner + slab, width, wide);
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

template <class W> void reduce_shape(const ReduceShape& shape, int64_t lane_bytes, void* workspace, const Steps<W>& steps) {
  if (shape.inner == 1) {
    reduce_rows(shape, steps);
  } else {
    reduce_columns(shape, plan_columns(shape, lane_bytes), static_cast<W*>(workspace), steps);
  }
}

template <class Op> void reduce_with(const Op& op, const ReduceShape& shape, Source source, Target y, void* workspace) {
  using T = typename Op::Lane;
  using W = typename Op::Wide;
  const Tiles<T> x(source);
  auto chunk = [&](int64_t at, int64_t n, int64_t) { return reduce_chunk(op, x, at, n); };
  auto short_rows = [&](int64_t at, int64_t n, int64_t rows, W* out) { reduce_short_rows(op, x, at, n, rows, out); };
  auto slab = [&](int64_t at, int64_t step, int64_t rows, int64_t width, int64_t, W* out) {
    if (step == width && is_narrow<Op>(width)) return reduce_narrow_slab(op, x, at, rows, width, out);
    reduce_slab(op, x, at, step, rows, width, out);
  };
  auto merge = [&](W* into, const W* from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = op.merge(into[i], from[i]);
  };
  auto write = [&](int64_t at, int64_t n, W* values) {
    op.finish(values, n);
    write_results(y, at, n, values);
  };
  reduce_shape<W>(shape, lane_bytes<T>(), workspace, {chunk, short_rows, slab, merge, write});
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
