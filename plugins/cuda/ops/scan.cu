// Running sums, products, extremes and logsumexp along one dimension. Rows are scanned in tiles by groups of threads, columns
// by a thread each; long ones are cut into parts, whose totals are scanned first. The parts depend on the shape alone, and so
// do the results.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/along.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

// What is scanned: states of elements, merged from the first on.
template <class X> struct RunningSum {
  using State = std::conditional_t<std::is_floating_point_v<X>, double, int64_t>;
  __device__ __forceinline__ State none() const { return 0; }
  __device__ __forceinline__ State of(X x, int64_t) const { return State(x); }
  __device__ __forceinline__ State operator()(State a, State b) const {
    if constexpr (std::is_floating_point_v<X>) return a + b;
    return State(uint64_t(a) + uint64_t(b));
  }
  __device__ __forceinline__ X value(State s) const { return X(s); }
};
template <class X> struct RunningProduct {
  using State = std::conditional_t<std::is_floating_point_v<X>, double, int64_t>;
  __device__ __forceinline__ State none() const { return 1; }
  __device__ __forceinline__ State of(X x, int64_t) const { return State(x); }
  __device__ __forceinline__ State operator()(State a, State b) const {
    if constexpr (std::is_floating_point_v<X>) return a * b;
    return State(uint64_t(a) * uint64_t(b));
  }
  __device__ __forceinline__ X value(State s) const { return X(s); }
};
// The largest element so far and the sum of exponentials relative to it.
template <class X> struct RunningExponentials {
  using State = Pair<double>;
  __device__ __forceinline__ State none() const { return {kLowest<double>, 0}; }
  __device__ __forceinline__ State of(X x, int64_t) const {  // infinities and NaN are their own logarithm
    return {double(x), x == kLowest<X> ? 0.0 : 1.0};
  }
  __device__ __forceinline__ State operator()(State x, State y) const {
    if (x.a != x.a || y.a != y.a) return {x.a + y.a, 1};
    const State more = x.a > y.a ? x : y, less = x.a > y.a ? y : x;
    if (less.b == 0 || more.a - more.a != 0) return more;
    return {more.a, more.b + less.b * exp(less.a - more.a)};
  }
  __device__ __forceinline__ X value(State s) const { return X(s.a + log(s.b)); }
};
// The last of equal ones; NaN, once there, stays.
template <class X> struct Extreme {
  X value;
  int64_t index;  // -1: there is none
};
template <class S> inline constexpr bool kHasIndex = false;
template <class X> inline constexpr bool kHasIndex<Extreme<X>> = true;
template <class X> struct RunningExtreme {
  using State = Extreme<X>;
  bool flipped, is_unsigned;
  __device__ __forceinline__ State none() const { return {X(0), -1}; }
  __device__ __forceinline__ State of(X x, int64_t i) const { return {x, i}; }
  __device__ __forceinline__ State operator()(State a, State b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    bool later = flipped ? b.value <= a.value : b.value >= a.value;
    if constexpr (!std::is_floating_point_v<X>)
      if (is_unsigned) later = flipped ? uint64_t(b.value) <= uint64_t(a.value) : uint64_t(b.value) >= uint64_t(a.value);
    return (later || b.value != b.value) && (a.value == a.value || b.value != b.value) ? b : a;
  }
  __device__ __forceinline__ X value(State s) const { return s.value; }
};

struct Shape {
  int64_t outer, n, inner, parts, each;  // each: entries of a part
  bool aligned = false;
};
constexpr int kThreads = 256, kMostParts = 1024;

// The merged states of the group's threads before this one, and of all.
template <int kGroup, class Op, class S = typename Op::State>
__device__ __forceinline__ S before_in_group(const Op& op, S mine, S* shared, S& total) {
  const int lane = int(threadIdx.x) % kWarp;
  S sum = mine;
  DY_UNROLL
  for (int by = 1; by < kWarp; by *= 2) {
    const S other = shuffle_up(sum, by);
    if (lane >= by) sum = op(other, sum);
  }
  S before = shuffle_up(sum, 1);
  if (lane == 0) before = op.none();
  if constexpr (kGroup > kWarp) {
    constexpr int kWarps = kGroup / kWarp;
    const int warp = int(threadIdx.x) / kWarp;
    __syncthreads();
    if (lane == kWarp - 1) shared[warp] = sum;
    __syncthreads();
    S ahead = op.none();
    total = op.none();
    DY_UNROLL
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) ahead = total;
      total = op(total, shared[w]);
    }
    return op(ahead, before);
  } else {
    total = shuffle_from(sum, kWarp - 1);
    return before;
  }
}

// Parts of rows, each from its carry on. Without results the totals of parts are left where carries are.
template <class Op, class E, int kGroup, bool kTotals>
__global__ void __launch_bounds__(kThreads) scan_rows(Op op, const void* x, void* y, int64_t* index, void* carries, Shape p) {
  using S = typename Op::State;
  using Row = HeldRow<E, kGroup, 1>;
  __shared__ S room[kGroupRoom<kGroup>];
  constexpr int kRows = kThreads / kGroup;
  const int t = int(threadIdx.x) % kGroup;
  const int64_t all = p.outer * p.parts;
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < all; first += int64_t(gridDim.x) * kRows) {
    const int64_t u = first + threadIdx.x / kGroup, r = u / p.parts, begin = u % p.parts * p.each;
    const int64_t left = p.n - begin, n = left < p.each ? left : p.each;
    S carry = !kTotals && carries && u < all ? static_cast<const S*>(carries)[u] : op.none();
    const int64_t place = r * p.n + begin;
    for (int64_t i = -(place % kChunk); i < p.each; i += Row::kMost) {  // by whole chunks; all groups of a warp do as many
      Span span(place + (i < 0 ? 0 : i), u < all && n > i ? n - (i < 0 ? 0 : i) : 0, Row::kMost);
      Row row;
      row.load(x, span, t, p.aligned, typename E::Value(0));
      S state[kChunk], sum = op.none(), total;
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) {
        if (Row::has(span, t, 0, j)) sum = op(sum, op.of(row.v[0][j], span.first - r * p.n + Row::number(span, t, 0, j)));
        state[j] = sum;
      }
      const S before = op(carry, before_in_group<kGroup>(op, sum, room, total));
      carry = op(carry, total);
      if constexpr (!kTotals) {
        DY_UNROLL
        for (int j = 0; j < kChunk; ++j) {
          state[j] = op(before, state[j]);
          row.v[0][j] = op.value(state[j]);
          if constexpr (kHasIndex<S>)
            if (Row::has(span, t, 0, j)) index[span.first + Row::number(span, t, 0, j)] = state[j].index;
        }
        row.store(y, span, t, p.aligned);
      }
    }
    if (kTotals && t == 0 && u < all) static_cast<S*>(carries)[u] = carry;
  }
}
// The same of columns: a thread has a part of one.
template <class Op, class E, bool kTotals>
__global__ void __launch_bounds__(kThreads)
    scan_columns(Op op, const void* x, void* y, int64_t* index, void* carries, Shape p) {
  using S = typename Op::State;
  constexpr int kAtOnce = 4;
  const auto* from = static_cast<const typename E::Stored*>(x);
  auto* to = static_cast<typename E::Stored*>(y);
  const int64_t columns = p.outer * p.inner, all = columns * p.parts;
  for (int64_t u = int64_t(blockIdx.x) * kThreads + threadIdx.x; u < all; u += int64_t(gridDim.x) * kThreads) {
    const int64_t c = u % columns, part = u / columns, base = c / p.inner * p.n * p.inner + c % p.inner;
    const int64_t begin = part * p.each, end = begin + p.each < p.n ? begin + p.each : p.n;
    S* const carry = static_cast<S*>(carries) + c * p.parts + part;
    S sum = !kTotals && carries ? *carry : op.none();
    for (int64_t i = begin; i < end; i += kAtOnce) {
      typename E::Value v[kAtOnce];
      DY_UNROLL
      for (int k = 0; k < kAtOnce; ++k)
        v[k] = i + k < end ? typename E::Value(E::value(from[base + (i + k) * p.inner])) : typename E::Value(0);
      DY_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        if (i + k >= end) break;
        sum = op(sum, op.of(v[k], i + k));
        if constexpr (!kTotals) {
          const int64_t e = base + (i + k) * p.inner;
          to[e] = E::stored(op.value(sum));
          if constexpr (kHasIndex<S>) index[e] = sum.index;
        }
      }
    }
    if (kTotals) *carry = sum;
  }
}
// A block turns the totals of a row's parts into what comes before each.
template <class Op>
__global__ void __launch_bounds__(kMostParts) scan_totals(Op op, void* carries, int64_t rows, int64_t parts) {
  using S = typename Op::State;
  __shared__ S room[kGroupRoom<kMostParts>];
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    S* const own = static_cast<S*>(carries) + r * parts;
    const bool is_one = threadIdx.x < parts;
    S total;
    const S before = before_in_group<kMostParts>(op, is_one ? own[threadIdx.x] : op.none(), room, total);
    if (is_one) own[threadIdx.x] = before;
  }
}

enum class Scanned : uint8_t { sum, product, exponentials, largest, smallest };
struct Scan {
  Scanned kind;
  Shape shape;
  bool columns, warps, is_unsigned;
  Usual x, y;
  int64_t carries;  // in the workspace
};
template <class Op, class E> void scan(const Scan& p, const Op& op, const void* x, void* y, const Pointers& at) {
  Shape s = p.shape;
  s.aligned = all_aligned(x, y);
  auto* index = static_cast<int64_t*>(p.kind >= Scanned::largest ? at.out[1] : nullptr);
  void* carries = s.parts > 1 ? at_place(at.workspace, p.carries) : nullptr;
  const Grid by_row{.blocks = blocks_for(s.outer * s.parts, 1, 1), .threads = kThreads};
  const Grid by_column = grid_for(s.outer * s.inner * s.parts, 1, kThreads);
  if (carries) {
    if (p.columns)
      launch(scan_columns<Op, E, true>, by_column, op, x, y, index, carries, s);
    else
      launch(scan_rows<Op, E, kThreads, true>, by_row, op, x, y, index, carries, s);
    const int64_t rows = s.outer * s.inner;
    launch(scan_totals<Op>, {.blocks = blocks_for(rows, 1, 1), .threads = kMostParts}, op, carries, rows, s.parts);
  }
  if (p.columns)
    launch(scan_columns<Op, E, false>, by_column, op, x, y, index, carries, s);
  else if (p.warps)
    launch(scan_rows<Op, E, kWarp, false>, {.blocks = blocks_for(s.outer, kWarp, kThreads), .threads = kThreads}, op, x, y,
           index, carries, s);
  else
    launch(scan_rows<Op, E, kThreads, false>, by_row, op, x, y, index, carries, s);
}
template <class E> void scan_as(const Scan& p, const void* x, void* y, const Pointers& at) {
  using T = typename E::Value;
  if (p.kind == Scanned::sum) return scan<RunningSum<T>, E>(p, {}, x, y, at);
  if (p.kind == Scanned::product) return scan<RunningProduct<T>, E>(p, {}, x, y, at);
  if (p.kind >= Scanned::largest) return scan<RunningExtreme<T>, E>(p, {p.kind == Scanned::smallest, p.is_unsigned}, x, y, at);
  if constexpr (std::is_floating_point_v<T>) scan<RunningExponentials<T>, E>(p, {}, x, y, at);
}
void run(const Scan& p, const Pointers& at) {
  if (p.shape.outer * p.shape.n * p.shape.inner == 0) return;
  const void* x = p.x.read(at.in[0], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  if (p.x.code == Code::i64)
    scan_as<ElementOf<Code::i64>>(p, x, y, at);
  else
    with_usual(p.x.code, [&]<class E>() { scan_as<E>(p, x, y, at); });
  p.y.close(at.out[0], at.workspace);
}

constexpr int64_t kShortRow = 32, kWarpRow = 512, kTile = kThreads * kChunk, kFewThreads = 1 << 16;
template <Scanned kKind> void plan(Call& c) {
  const Along along(c.impl(0), c[ops::cumsum_op::arg::dim]);
  const Operand x = c.operand(0), y = c.result();
  Room room(c.plan);
  Scan& p = c.plan.make<run, Scan>();
  const bool floating = y.format->def->kind == Kind::floating;
  const Code own = code_of(y.format);
  const Code code = !floating ? Code::i64 : own == Code::f64 ? own : x.format == y.format ? usual_code(y.format) : Code::f32;
  p.kind = kKind;
  p.x = Usual(x, code, room), p.y = Usual(y, code, room, true);
  p.is_unsigned = own == Code::u64;
  Shape& s = p.shape = {along.outer, along.n, along.inner, 1, along.n};
  p.columns = s.inner > 1 || s.n <= kShortRow;
  p.warps = !p.columns && s.n <= kWarpRow;
  const int64_t rows = s.outer * s.inner;
  if (rows > 0 && p.columns && s.n >= 256) {
    const int64_t parts = kFewThreads / rows, most = s.n / 64 < kMostParts ? s.n / 64 : kMostParts;
    s.parts = parts < 1 ? 1 : parts < most ? parts : most;
    s.each = (s.n + s.parts - 1) / s.parts;
  } else if (rows > 0 && !p.columns && !p.warps && rows < 256 && s.n > 4 * kTile) {
    const int64_t tiles = (s.n + kTile - 1) / kTile, each = (tiles + kMostParts - 1) / kMostParts;
    s.each = each * kTile, s.parts = (tiles + each - 1) / each;
  }
  p.carries = room.take(s.parts > 1 ? rows * s.parts * 16 : 0);
}

const Registered ops[] = {
    {"cumsum", {.plan = plan<Scanned::sum>, .dense = true}},
    {"cumprod", {.plan = plan<Scanned::product>, .dense = true}},
    {"logcumsumexp", {.plan = plan<Scanned::exponentials>, .dense = true}},
    {"cummax", {.plan = plan<Scanned::largest>, .dense = true}},
    {"cummin", {.plan = plan<Scanned::smallest>, .dense = true}},
};

}  // namespace
}  // namespace dyadic::gpu
