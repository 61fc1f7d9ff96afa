// Sums, products, means, any and all, logsumexp, moments. Floats are added eight at a time in the type that they are computed
// in, and from there on in double; integers as int64.
#include "plugins/cuda/rows/reduce.h"

#include <algorithm>

namespace dyadic::gpu {
namespace {

uint32_t reduced_dims(const Arg& dim, int ndim) {  // bit d: dimension d goes; the rules have checked them
  const uint32_t all = ndim ? (1u << ndim) - 1 : 0;
  auto bit = [&](int64_t d) { return ndim ? 1u << (d < 0 ? d + ndim : d) : 0u; };
  if (dim.kind == Arg::Kind::integer) return bit(dim.integer);
  if (dim.kind != Arg::Kind::ints || dim.n == 0) return all;
  uint32_t mask = 0;
  for (uint32_t i = 0; i < dim.n; ++i) mask |= bit(dim.ints[i]);
  return mask;
}

constexpr int64_t kShort = 32;       // entries up to which a thread takes them alone
constexpr int64_t kWarpRow = 2048;   // elements up to which a warp takes a row
constexpr int64_t kManyRows = 4096;  // rows from which on it takes one of so many times as much: warps wait for nobody
constexpr int64_t kTimes = 8;
constexpr int64_t kEnoughBlocks = 1024;  // where there are fewer, rows and columns are cut
constexpr int64_t kMostParts = 1024;

int64_t parts_of(int64_t blocks, int64_t units, int64_t least) {
  return std::max<int64_t>(1, std::min({kEnoughBlocks / std::max<int64_t>(blocks, 1), units / least, kMostParts}));
}
void cut_rows(Reduction& p) {
  Reduced& s = p.shape;
  const Space<1>& gone = s.gone;
  const bool dense = gone.ndim == 0 || gone.stride[0][gone.ndim - 1] == 1;
  bool eights = dense && gone.inner() % kChunk == 0;
  for (int d = 0; d + 1 < gone.ndim; ++d) eights = eights && gone.stride[0][d] % kChunk == 0;
  for (int d = 0; d < s.kept.ndim; ++d) eights = eights && s.kept.stride[0][d] % kChunk == 0;
  s.row = dense && gone.ndim <= 1 ? Reduced::Row::whole : eights ? Reduced::Row::eights : Reduced::Row::single;
  p.warps = gone.count <= (s.kept.count < kManyRows ? kWarpRow : kWarpRow * kTimes);
  const bool chunks = s.row != Reduced::Row::single;
  const int64_t units = chunks ? (gone.count + kChunk - 1) / kChunk + 1 : gone.count;
  s.parts = p.warps ? 1 : parts_of(s.kept.count, units, kReduceThreads * (chunks ? 4 : 16));
  s.each = std::max<int64_t>(1, (units + s.parts - 1) / s.parts);
}
// Columns of a thread: as many as a word holds, where all words lie on their own in memory.
int words_of(const Reduced& s, Code code) {
  const int n = 16 / stored_bytes(code);
  bool whole = s.gone.ndim <= 1 && s.kept.inner_dense() && s.kept.ndim > 0 && s.kept.inner() % n == 0;
  for (int d = 0; d < s.gone.ndim; ++d) whole = whole && s.gone.stride[0][d] % n == 0;
  for (int d = 0; d + 1 < s.kept.ndim; ++d) whole = whole && s.kept.stride[0][d] % n == 0;
  return whole ? n : 1;
}
void cut_columns(Reduction& p, bool across) {
  Reduced& s = p.shape;
  const int64_t columns = s.kept.count, n = s.gone.count;
  s.across = across && is_usual(p.x) ? words_of(s, p.x) : 1;
  int lanes = n <= (s.across > 1 ? 8 : kShort) ? kReduceThreads : 32;
  while (lanes > 1 && lanes / 2 * s.across >= columns) lanes /= 2;
  s.wide = lanes * s.across;
  const int64_t depth = kReduceThreads / lanes;
  s.parts = parts_of((columns + s.wide - 1) / s.wide, n, depth * (s.across > 1 ? 8 : 32));
  s.each = std::max<int64_t>(1, (n + s.parts - 1) / s.parts);
}

}  // namespace

void plan_reduction(Call& c, Reduction& p, int64_t state, bool index, bool across) {
  Operand t = c.operand(0);
  Room room(c.plan);
  const Code code = code_of(t.format);
  p.x = code, p.copied = -1;
  if (!is_usual(code) && t.format->def->kind == Kind::floating) {  // the others are not compiled for: a copy, which is dense
    Operand dense = t;
    int64_t step = 1;
    for (int d = t.ndim; d-- > 0; step *= t.lengths[d]) dense.steps[d] = step;
    p.x = Code::f32, p.copied = room.take(t.count * 4);
    p.copy = plan_transfer(dense, t), p.copy.to = Code::f32;
    t = dense;
  }
  const uint32_t mask = reduced_dims(c.arg(ops::sum_op::arg::dim), t.ndim);
  int order[kMaxDims], gone = 0;
  for (int d = 0; d < t.ndim; ++d)
    if (mask >> d & 1) order[gone++] = d;
  if (!index)  // so that memory is met in its order
    std::stable_sort(order, order + gone, [&](int a, int b) { return t.steps[a] > t.steps[b]; });
  p.shape = {};
  for (int d = 0; d < t.ndim; ++d)
    if (!(mask >> d & 1)) p.shape.kept.add(t.lengths[d], {t.steps[d]});
  for (int k = 0; k < gone; ++k) p.shape.gone.add(t.lengths[order[k]], {t.steps[order[k]]});
  p.shape.kept.finish(), p.shape.gone.finish();
  for (int j = 0; j < 2; ++j) {
    const Operand y = j < c.nout ? c.result(j) : Operand();
    p.y[j] =
        Usual(y, y.defined() && y.format->def->kind == Kind::floating ? usual_code(y.format) : code_of(y.format), room, true);
  }
  const Space<1>&kept = p.shape.kept, &along = p.shape.gone;
  p.count = double(along.count);
  const bool dense_row = along.ndim == 0 || along.stride[0][along.ndim - 1] == 1;
  const bool dense_kept = kept.ndim > 0 && kept.stride[0][kept.ndim - 1] == 1;
  p.columns = along.count <= kShort || (!dense_row && dense_kept);
  p.warps = false;
  p.columns ? cut_columns(p, across) : cut_rows(p);
  p.partial = p.shape.parts > 1 ? room.take(p.shape.parts * kept.count * state) : -1;
}

namespace {

enum Summed : int { sum, mean, squares, absolute, numbers_only, numbers, all, any };

template <class X, bool kPlain> struct Sum {  // kPlain: of what the elements are
  using T = X;
  static constexpr int kAtOnce = 4;
  static constexpr bool kIsWide = true;
  using Lane = X;
  using State = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  Summed kind;
  double count;
  __device__ __forceinline__ Lane lane() const { return 0; }
  __device__ __forceinline__ State start() const { return 0; }
  __device__ __forceinline__ void add(Lane& l, T x, int64_t) const {
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (!kPlain) {
        if (kind == squares) x = x * x;
        if (kind == absolute) x = x < 0 ? -x : x;
        if (kind == numbers_only) x = x == x ? x : T(0);
        if (kind == numbers) x = x == x ? T(1) : T(0);
      }
      l += x;
    } else {
      l = T(uint64_t(l) + uint64_t(x));
    }
  }
  __device__ __forceinline__ void join(State& s, Lane l) const { s = merge(s, State(l)); }
  __device__ __forceinline__ State merge(State a, State b) const {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    return State(uint64_t(a) + uint64_t(b));
  }
  __device__ __forceinline__ void write(const Results& out, int64_t k, State s) const {
    if (kind == mean) s = State(double(s) / count);
    store_result(out, 0, k, s);
  }
};
template <class X> struct Product {
  using T = X;
  static constexpr int kAtOnce = 1;
  static constexpr bool kIsWide = false;
  using Lane = X;
  using State = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  __device__ __forceinline__ Lane lane() const { return 1; }
  __device__ __forceinline__ State start() const { return 1; }
  __device__ __forceinline__ void add(Lane& l, T x, int64_t) const {
    if constexpr (std::is_floating_point_v<T>)
      l *= x;
    else
      l = T(uint64_t(l) * uint64_t(x));
  }
  __device__ __forceinline__ void join(State& s, Lane l) const { s = merge(s, State(l)); }
  __device__ __forceinline__ State merge(State a, State b) const {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    return State(uint64_t(a) * uint64_t(b));
  }
  __device__ __forceinline__ void write(const Results& out, int64_t k, State s) const { store_result(out, 0, k, s); }
};
// any: is there an element that is true; all: is there none that is not.
template <class X> struct Truth {
  using T = X;
  static constexpr int kAtOnce = 1;
  static constexpr bool kIsWide = false;
  using Lane = int;
  using State = int;  // found
  Summed kind;
  __device__ __forceinline__ int lane() const { return 0; }
  __device__ __forceinline__ int start() const { return 0; }
  __device__ __forceinline__ void add(int& l, T x, int64_t) const { l |= (x == T(0)) == (kind == all); }
  __device__ __forceinline__ void join(int& s, int l) const { s |= l; }
  __device__ __forceinline__ int merge(int a, int b) const { return a | b; }
  __device__ __forceinline__ void write(const Results& out, int64_t k, int s) const {
    static_cast<uint8_t*>(out.at[0])[k] = uint8_t((s != 0) != (kind == all));
  }
};
// log(sum(exp(x))): exponentials are relative to the largest element so far, to 0 where that is infinite.
template <class X> struct TopAndSum {
  X top, sum;
};
template <class X> struct LogSumExp {
  using T = X;
  static constexpr int kAtOnce = 1;
  static constexpr bool kIsWide = false;
  using Lane = TopAndSum<X>;
  using State = TopAndSum<double>;
  __device__ __forceinline__ Lane lane() const { return {kLowest<T>, T(0)}; }
  __device__ __forceinline__ State start() const { return {kLowest<double>, 0}; }
  template <class V> static __device__ __forceinline__ V shift(V top) { return top - top == 0 ? top : V(0); }
  __device__ __forceinline__ void add(Lane& l, T x, int64_t) const {
    if (x > l.top) {
      l.sum = l.sum == 0 ? T(0) : l.sum * exp_of(l.top - x);
      l.top = x;
    }
    l.sum += exp_of(x - shift(l.top));
  }
  __device__ __forceinline__ void join(State& s, Lane l) const { s = merge(s, {double(l.top), double(l.sum)}); }
  __device__ __forceinline__ State merge(State a, State b) const {
    if (a.top == b.top) return {a.top, a.sum + b.sum};
    const bool first = a.top > b.top;
    const State more = first ? a : b, less = first ? b : a;
    return {more.top, more.sum + (less.sum == 0 ? 0 : less.sum * exp(less.top - more.top))};
  }
  __device__ __forceinline__ void write(const Results& out, int64_t k, State s) const {
    store_result(out, 0, k, shift(s.top) + log(s.sum));
  }
};
// Squared distances from the mean, added; and the mean. A lane counts distances from its first element.
template <class X> struct Distances {
  X first, sum, squares;
  int n;
};
template <class X> struct MomentsOf {
  using T = X;
  static constexpr int kAtOnce = 1;
  static constexpr bool kIsWide = false;
  using Lane = Distances<X>;
  using State = Moments;
  __device__ __forceinline__ Lane lane() const { return {T(0), T(0), T(0), 0}; }
  __device__ __forceinline__ State start() const { return {}; }
  __device__ __forceinline__ void add(Lane& l, T x, int64_t) const {
    if (l.n++ == 0) l.first = x;
    const T d = x - l.first;
    l.sum += d;
    l.squares += d * d;
  }
  __device__ __forceinline__ void join(State& s, Lane l) const {
    s = merge(s, moments_about(double(l.first), double(l.sum), double(l.squares), double(l.n)));
  }
  __device__ __forceinline__ State merge(State a, State b) const { return MergeMoments()(a, b); }
  __device__ __forceinline__ void write(const Results& out, int64_t k, State s) const {
    store_result(out, 0, k, s.squares);
    store_result(out, 1, k, s.n == 0 ? s.mean / s.n : s.mean);  // of nothing the mean is NaN
  }
};

template <Summed kKind> void run_sum(const Reduction& p, const Pointers& at) {
  constexpr bool kPlain = kKind == sum || kKind == mean;
  if (!is_usual(p.x)) return run_reduction(p, Sum<int64_t, true>{sum, p.count}, ReadsIntegers{p.x}, at);
  with_usual(p.x, [&]<class E>() { run_reduction(p, Sum<typename E::Value, kPlain>{kKind, p.count}, Reads<E>{}, at); });
}
// make(a number of the type that is computed in) is the operation.
template <bool kIntegers, class F> void run_any(const Reduction& p, const Pointers& at, F make) {
  if (p.x == Code::f64) return run_reduction(p, make(double()), Reads<ElementOf<Code::f64>>{}, at);
  if (is_usual(p.x)) return run_reduction(p, make(float()), ReadsFloats{p.x}, at);
  if constexpr (kIntegers) run_reduction(p, make(int64_t()), ReadsIntegers{p.x}, at);
}
void run_product(const Reduction& p, const Pointers& at) {
  run_any<true>(p, at, [](auto x) { return Product<decltype(x)>{}; });
}
template <Summed kKind> void run_truth(const Reduction& p, const Pointers& at) {
  run_any<true>(p, at, [](auto x) { return Truth<decltype(x)>{kKind}; });
}
void run_exponentials(const Reduction& p, const Pointers& at) {
  run_any<false>(p, at, [](auto x) { return LogSumExp<decltype(x)>{}; });
}
void run_moments(const Reduction& p, const Pointers& at) {
  run_any<false>(p, at, [](auto x) { return MomentsOf<decltype(x)>{}; });
}
template <auto kRun, int64_t kState, bool kIsWide = false> void plan(Call& c) {
  plan_reduction(c, c.plan.make<kRun, Reduction>(), kState, false, kIsWide);
}

const Registered ops[] = {
    {"sum", {.plan = plan<run_sum<sum>, 8, true>}},
    {"mean", {.plan = plan<run_sum<mean>, 8, true>}},
    {"square_sum", {.plan = plan<run_sum<squares>, 8, true>}},
    {"abs_sum", {.plan = plan<run_sum<absolute>, 8, true>}},
    {"nan_sum", {.plan = plan<run_sum<numbers_only>, 8, true>}},
    {"count_numbers", {.plan = plan<run_sum<numbers>, 8, true>}},
    {"prod", {.plan = plan<run_product, 8>}},
    {"any", {.plan = plan<run_truth<any>, 4>}},
    {"all", {.plan = plan<run_truth<all>, 4>}},
    {"logsumexp_float", {.plan = plan<run_exponentials, 16>}},
    {"moments", {.plan = plan<run_moments, 24>}},
};

}  // namespace
}  // namespace dyadic::gpu
