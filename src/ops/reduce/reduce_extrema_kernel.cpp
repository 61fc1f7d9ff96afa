// max, min, both at once, argmax, argmin. NaN wins over every number; of equal values the first index is given.
#include "ops/reduce/reduce_loops.h"

namespace dyadic::DY_ISA {
namespace {

template <class T> DY_INLINE bool is_nan(T x) { return x != x; }
// Whether b replaces a as the maximum: the index of equal values stays with the first.
template <class T> DY_INLINE bool beats(T b, T a) { return b > a || (is_nan(b) && !is_nan(a)); }

// The maximum; with `flipped`, the minimum as the maximum of -x (floats) or ~x (integers), both exact. Integers of one or two
// bytes leave as i32.
template <class T> struct Extremum {
  using Lane = T;
  using Wide = std::conditional_t<(sizeof(T) < 4), int32_t, T>;
  bool flipped;

  DY_INLINE T identity() const {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(-__builtin_huge_val());
    if constexpr (std::is_unsigned_v<T>) return 0;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return static_cast<T>(int64_t{-1} << (8 * sizeof(T) - 1));
  }
  DY_INLINE T flip(T x) const {
    if (!flipped) return x;
    if constexpr (std::is_floating_point_v<T>) return -x;
    if constexpr (std::is_integral_v<T>) return static_cast<T>(~x);
  }
  template <class D, class V> DY_INLINE V map(D d, V v) const {
    if constexpr (std::is_floating_point_v<T>) return hn::Xor(v, flipped ? hn::SignBit(d) : hn::Zero(d));
    if constexpr (std::is_integral_v<T>) return hn::Xor(v, hn::Set(d, flipped ? T(-1) : T(0)));
  }
  template <class D, class V> DY_INLINE V merge(D, V a, V b) const {
    const V c = hn::Max(b, a);  // on x86 the second operand when one is NaN
    if constexpr (std::is_floating_point_v<T>) return hn::IfThenElse(hn::IsNaN(b), b, c);  // b: nobody waits for it
    return c;
  }
  DY_INLINE Wide merge(Wide a, Wide b) const { return beats(b, a) ? b : a; }
  void finish(Wide* values, int64_t n) const {
    for (int64_t i = 0; i < n; i++) values[i] = flip(static_cast<T>(values[i]));
  }
};

// The smallest (flipped) and the largest element.
template <class W> struct Both {
  W low, high;
};

// Both of n >= 1 elements, which are loaded once for both comparisons.
template <class T, class E> DY_INLINE Both<typename Extremum<T>::Wide> both_of(const E* x, int64_t n) {
  using W = typename Extremum<T>::Wide;
  constexpr Extremum<T> least{true}, most{false};
  constexpr hn::ScalableTag<T> d;
  constexpr hn::CappedTag<T, 1> one;
  constexpr int64_t kSize = hn::MaxLanes(d), kVectors = 4;
  hn::Vec<hn::ScalableTag<T>> low[kVectors], high[kVectors];
  for (auto& v : low) v = hn::Set(d, least.identity());
  for (auto& v : high) v = hn::Set(d, most.identity());
  int64_t i = 0;
  for (; i + kVectors * kSize <= n; i += kVectors * kSize) {
    for (int64_t j = 0; j < kVectors; j++) {
      const auto v = load_lanes(d, x + i + j * kSize);
      low[j] = least.merge(d, low[j], least.map(d, v));
      high[j] = most.merge(d, high[j], most.map(d, v));
    }
  }
  for (int64_t j = 1; j < kVectors; j++) {
    low[0] = least.merge(d, low[0], low[j]);
    high[0] = most.merge(d, high[0], high[j]);
  }
  Both<W> best{static_cast<W>(fold_halves(least, d, low[0])), static_cast<W>(fold_halves(most, d, high[0]))};
  for (; i < n; i++) {
    const T value = hn::GetLane(load_lanes(one, x + i));
    best = {least.merge(best.low, static_cast<W>(least.flip(value))), most.merge(best.high, static_cast<W>(value))};
  }
  return best;
}

template <class T> void find_both(const ReduceShape& shape, Source source, Target low, Target high, void* workspace) {
  const Extremum<T> least{true}, most{false};
  using W = typename Extremum<T>::Wide;
  using B = Both<W>;
  const Tiles<T> x(source);
  auto merge = [&](B* into, const B* from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = {least.merge(into[i].low, from[i].low), most.merge(into[i].high, from[i].high)};
  };
  auto chunk = [&](int64_t at, int64_t n, int64_t) {
    alignas(64) T buffer[kSumBlock];
    B best{least.identity(), most.identity()};
    for (int64_t i = 0; i < n; i += kSumBlock) {
      const int64_t count = min_of(kSumBlock, n - i);
      const B next = x.with(at + i, count, buffer, [&](const auto* e) { return both_of<T>(e, count); });
      merge(&best, &next, 1);
    }
    return best;
  };
  auto short_rows = [&](int64_t at, int64_t step, int64_t outer, int64_t n, int64_t inner, B* out) {
    W lows[kBatch], highs[kBatch];
    reduce_short_rows(least, x, at, step, outer, n, inner, lows);
    reduce_short_rows(most, x, at, step, outer, n, inner, highs);
    for (int64_t r = 0; r < outer * inner; r++) out[r] = {lows[r], highs[r]};
  };
  auto slab = [&](int64_t at, int64_t step, int64_t rows, int64_t width, int64_t, B* out) {
    constexpr int64_t kRows = 32;  // of a slab: in the second cache
    W lows[kSlabBytes / 4], highs[kSlabBytes / 4];
    for (int64_t j = 0; j < width; j++) out[j] = {least.identity(), most.identity()};
    for (int64_t r = 0; r < rows; r += kRows) {
      reduce_slab(least, x, at + r * step, step, min_of(kRows, rows - r), width, lows);
      reduce_slab(most, x, at + r * step, step, min_of(kRows, rows - r), width, highs);
      for (int64_t j = 0; j < width; j++) out[j] = {least.merge(out[j].low, lows[j]), most.merge(out[j].high, highs[j])};
    }
  };
  auto write = [&](int64_t at, int64_t n, B* values) {
    W lows[kBatch], highs[kBatch];
    for (int64_t i = 0; i < n; i += kBatch) {
      const int64_t count = min_of(kBatch, n - i);
      for (int64_t j = 0; j < count; j++) lows[j] = values[i + j].low, highs[j] = values[i + j].high;
      least.finish(lows, count);
      write_results(low, at + i, count, lows);
      write_results(high, at + i, count, highs);
    }
  };
  reduce_shape<B>(shape, lane_bytes<T>(), workspace, {chunk, short_rows, slab, merge, write});
}

// A candidate's value (flipped for argmin) and index.
template <class T> struct Found {
  T value;
  int64_t index;
};

// Results leave as indices.
template <class T> void write_results(Target y, int64_t at, int64_t n, const Found<T>* results) {
  int64_t index[kBatch];
  for (int64_t i = 0; i < n; i += kBatch) {
    const int64_t count = min_of(kBatch, n - i);
    for (int64_t j = 0; j < count; j++) index[j] = results[i + j].index;
    convert(compute_format(Compute::i64), index, *y.format, element(y, at + i), count);
  }
}

// The first place in x[0, n) of a value that is there.
template <class T> int64_t find(const T* x, int64_t n, T value) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t kSize = hn::MaxLanes(d);
  const auto wanted = hn::Set(d, value);
  int64_t i = 0;
  for (; i + kSize <= n; i += kSize) {
    const auto v = hn::LoadU(d, x + i);
    auto hit = hn::Eq(v, wanted);
    if constexpr (std::is_floating_point_v<T>) hit = is_nan(value) ? hn::IsNaN(v) : hit;
    const intptr_t lane = hn::FindFirstTrue(d, hit);
    if (lane >= 0) return i + lane;
  }
  for (; i < n; i++) {
    if (x[i] == value || (is_nan(x[i]) && is_nan(value))) return i;
  }
  return 0;
}

// Blocks are searched for the index only when their extremum beats all before: at the speed of max for most data.
template <class T> Found<T> find_chunk(const Extremum<T>& op, const Tiles<T>& x, int64_t at, int64_t n, int64_t first) {
  alignas(64) T buffer[kSumBlock];
  Found<T> best{};
  for (int64_t i = 0; i < n; i += kSumBlock) {
    const int64_t count = min_of(kSumBlock, n - i);
    const T* tile = x.read(at + i, count, buffer);
    const T value = reduce_block(op, tile, count);
    if (i > 0 && !beats(value, best.value)) continue;
    best = {value, first + i + find(tile, count, op.flip(value))};
  }
  return best;
}

template <class T> using RowNumber = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T, class D>
DY_INLINE void find_rows(const Extremum<T>& op, D d, T* value, RowNumber<T>* index, const T* row, RowNumber<T> number,
                         int64_t j) {
  constexpr hn::RebindToSigned<D> di;
  const auto x = op.map(d, hn::LoadU(d, row + j)), best = hn::LoadU(d, value + j);
  auto better = hn::Gt(x, best);
  if constexpr (std::is_floating_point_v<T>) better = hn::Or(better, hn::And(hn::IsNaN(x), hn::Eq(best, best)));
  hn::StoreU(hn::IfThenElse(better, x, best), d, value + j);
  const auto old = hn::LoadU(di, index + j);
  hn::StoreU(hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, number), old), di, index + j);
}

// Row numbers are kept in lanes as wide as the values, so they count from the start of a block of rows.
template <class T>
void find_slab(const Extremum<T>& op, const Tiles<T>& x, int64_t at, int64_t row_step, int64_t rows, int64_t width,
               int64_t first, Found<T>* out) {
  constexpr hn::ScalableTag<T> d;
  constexpr hn::CappedTag<T, 1> one;
  constexpr int64_t kSize = hn::MaxLanes(d), kWidth = kSlabBytes / sizeof(T);
  alignas(64) T value[kWidth], buffer[kWidth];
  alignas(64) RowNumber<T> index[kWidth];
  for (int64_t block = 0; block < rows; block += kRowBlock) {
    const T* row = x.read(at + block * row_step, width, buffer);
    for (int64_t j = 0; j < width; j++) {
      value[j] = op.flip(row[j]);
      index[j] = 0;
    }
    for (int64_t r = block + 1; r < min_of(rows, block + kRowBlock); r++) {
      row = x.read(at + r * row_step, width, buffer);
      int64_t j = 0;
      const auto number = static_cast<RowNumber<T>>(r - block);
      for (; j + kSize <= width; j += kSize) find_rows(op, d, value, index, row, number, j);
      for (; j < width; j++) find_rows(op, one, value, index, row, number, j);
    }
    for (int64_t j = 0; j < width; j++) {
      if (block == 0 || beats(value[j], out[j].value)) out[j] = {value[j], first + block + index[j]};
    }
  }
}

// Few neighbouring columns: kAtOnce rows side by side are one.
inline constexpr int64_t kAtOnce = 32, kNarrow = kSlabBytes / 8 / kAtOnce;
template <class T>
void find_few_columns(const Extremum<T>& op, const Tiles<T>& x, int64_t at, int64_t rows, int64_t width, int64_t first,
                      Found<T>* out) {
  Found<T> found[kNarrow * kAtOnce];
  const int64_t whole = rows / kAtOnce, row = width * kAtOnce;
  find_slab(op, x, at, row, whole, row, 0, found);
  for (int64_t j = 0; j < width; j++) {
    for (int64_t k = 0; k < kAtOnce; k++) {
      Found<T> next = found[k * width + j];
      next.index = first + next.index * kAtOnce + k;
      const bool same = !beats(next.value, out[j].value) && !beats(out[j].value, next.value);
      if (k == 0 || beats(next.value, out[j].value) || (same && next.index < out[j].index)) out[j] = next;
    }
  }
  if (rows == whole * kAtOnce) return;
  find_slab(op, x, at + whole * row, width, rows - whole * kAtOnce, width, first + whole * kAtOnce, found);
  for (int64_t j = 0; j < width; j++)
    if (beats(found[j].value, out[j].value)) out[j] = found[j];
}

template <class T> void find_all(const Extremum<T>& op, const ReduceShape& shape, Source source, Target y, void* workspace) {
  const Tiles<T> x(source);
  using W = Found<T>;
  auto chunk = [&](int64_t at, int64_t n, int64_t first) { return find_chunk(op, x, at, n, first); };
  auto short_rows = [&](int64_t at, int64_t step, int64_t outer, int64_t n, int64_t inner, W* out) {
    alignas(64) T turned[kSumBlock];
    turn_rows(x, at, step, outer, n * inner, turned);
    for_turned(turned, outer, inner, out, [&](const T* column, int64_t apart, W* to) {
      find_slab(op, Tiles<T>({column, &compute_format(kComputeOf<T>)}), 0, apart, n, outer, 0, to);
    });
  };
  auto slab = [&](int64_t at, int64_t step, int64_t rows, int64_t width, int64_t first, W* out) {
    if (step == width && width <= kNarrow && rows >= kAtOnce) return find_few_columns(op, x, at, rows, width, first, out);
    find_slab(op, x, at, step, rows, width, first, out);
  };
  auto merge = [](W* into, const W* from, int64_t n) {
    for (int64_t i = 0; i < n; i++) into[i] = beats(from[i].value, into[i].value) ? from[i] : into[i];
  };
  auto write = [&](int64_t at, int64_t n, W* values) { write_results(y, at, n, values); };
  reduce_shape<W>(shape, sizeof(T), workspace, {chunk, short_rows, slab, merge, write});
}

bool gives_index(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

template <class T> void extrema(ReduceOp op, const ReduceShape& shape, Source x, Target y, Target high, void* workspace) {
  const Extremum<T> extremum{op == ReduceOp::min || op == ReduceOp::argmin};
  if (op == ReduceOp::extremes) return find_both<T>(shape, x, y, high, workspace);
  if constexpr (sizeof(T) >= 4) {
    if (gives_index(op)) return find_all(extremum, shape, x, y, workspace);
  }
  reduce_with(extremum, shape, x, y, workspace);
}

}  // namespace

int64_t extrema_workspace(ReduceOp op, const ReduceShape& shape, const Format& x) {
  const int64_t lane = compute_size(x.def->compute);
  const ColumnPlan plan = plan_columns(shape, lane);
  const int64_t each = gives_index(op) ? 16 : op == ReduceOp::extremes ? 2 * lane : lane;
  return plan.chunks == 1 ? 0 : shape.outer * plan.chunks * shape.inner * each;
}

void reduce_extrema(ReduceOp op, const ReduceShape& shape, Source x, Target y, Target high, void* workspace) {
  const FormatDef& def = *x.format->def;
  const bool has_sign = def.kind == Kind::sint;
  switch (def.compute) {
    case Compute::f32:
      return extrema<float>(op, shape, x, y, high, workspace);
    case Compute::f64:
      return extrema<double>(op, shape, x, y, high, workspace);
    case Compute::i32:
      if (gives_index(op)) return extrema<int32_t>(op, shape, x, y, high, workspace);
      if (def.bits == 8) return (has_sign ? extrema<int8_t> : extrema<uint8_t>)(op, shape, x, y, high, workspace);
      if (def.bits == 16) return (has_sign ? extrema<int16_t> : extrema<uint16_t>)(op, shape, x, y, high, workspace);
      return extrema<int32_t>(op, shape, x, y, high, workspace);
    case Compute::u64:
      return extrema<uint64_t>(op, shape, x, y, high, workspace);
    default:
      return extrema<int64_t>(op, shape, x, y, high, workspace);
  }
}

}  // namespace dyadic::DY_ISA
