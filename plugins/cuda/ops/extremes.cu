// max, min, both at once, argmax, argmin. NaN wins over every number; of equal values the first index is given.
#include "plugins/cuda/rows/reduce.h"

namespace dyadic::gpu {
namespace {

// Whether b takes the place of a; flipped: the smaller one does.
template <class T> __device__ __forceinline__ bool beats(T b, T a, bool flipped) {
  return (flipped ? b < a : b > a) || (b != b && a == a);
}
template <class T> __device__ __forceinline__ T worst(bool flipped) {
  if constexpr (std::is_floating_point_v<T>) return flipped ? -kLowest<T> : kLowest<T>;
  return flipped ? T(~(uint64_t(1) << 63)) : T(uint64_t(1) << 63);
}
// u64 is read as i64: in that order after its highest bit is turned.
template <class T> __device__ __forceinline__ T turned(T x, bool is_unsigned) {
  if constexpr (!std::is_floating_point_v<T>)
    if (is_unsigned) return T(uint64_t(x) ^ uint64_t(1) << 63);
  return x;
}
template <class T> __device__ __forceinline__ void write_value(const Results& out, int j, int64_t k, T x, bool is_unsigned) {
  store_result(out, j, k, turned(x, is_unsigned));
}

template <class X> struct Extreme {
  using T = X;
  static constexpr int kAtOnce = 2;
  static constexpr bool kIsWide = false;
  using Lane = X;
  using State = X;
  bool flipped, is_unsigned;
  __device__ __forceinline__ T lane() const { return worst<T>(flipped); }
  __device__ __forceinline__ T start() const { return worst<T>(flipped); }
  __device__ __forceinline__ void add(T& l, T x, int64_t) const { l = merge(l, turned(x, is_unsigned)); }
  __device__ __forceinline__ void join(T& s, T l) const { s = merge(s, l); }
  __device__ __forceinline__ T merge(T a, T b) const { return beats(b, a, flipped) ? b : a; }
  __device__ __forceinline__ void write(const Results& out, int64_t k, T s) const { write_value(out, 0, k, s, is_unsigned); }
};
template <class X> struct Both {
  using T = X;
  static constexpr int kAtOnce = 2;
  static constexpr bool kIsWide = false;
  using State = Pair<X>;  // the smallest, the largest
  using Lane = State;
  bool is_unsigned;
  __device__ __forceinline__ State lane() const { return {worst<T>(true), worst<T>(false)}; }
  __device__ __forceinline__ State start() const { return lane(); }
  __device__ __forceinline__ void add(State& l, T x, int64_t) const {
    x = turned(x, is_unsigned);
    l = merge(l, {x, x});
  }
  __device__ __forceinline__ void join(State& s, State l) const { s = merge(s, l); }
  __device__ __forceinline__ State merge(State a, State b) const {
    return {beats(b.a, a.a, true) ? b.a : a.a, beats(b.b, a.b, false) ? b.b : a.b};
  }
  __device__ __forceinline__ void write(const Results& out, int64_t k, State s) const {
    write_value(out, 0, k, s.a, is_unsigned);
    write_value(out, 1, k, s.b, is_unsigned);
  }
};
template <class T> struct Found {
  T value;
  int64_t index;
};
template <class X> struct Place {
  using T = X;
  static constexpr int kAtOnce = 2;
  static constexpr bool kIsWide = false;
  using State = Found<X>;
  using Lane = State;
  bool flipped, is_unsigned;
  __device__ __forceinline__ State lane() const { return {worst<T>(flipped), int64_t(~(uint64_t(1) << 63))}; }
  __device__ __forceinline__ State start() const { return lane(); }
  __device__ __forceinline__ void add(State& l, T x, int64_t i) const { l = merge(l, {turned(x, is_unsigned), i}); }
  __device__ __forceinline__ void join(State& s, State l) const { s = merge(s, l); }
  __device__ __forceinline__ State merge(State a, State b) const {
    if (beats(b.value, a.value, flipped)) return b;
    return !beats(a.value, b.value, flipped) && b.index < a.index ? b : a;
  }
  __device__ __forceinline__ void write(const Results& out, int64_t k, State s) const {
    static_cast<int64_t*>(out.at[0])[k] = s.index;
  }
};

template <bool kFlipped> void run_extreme(const Reduction& p, const Pointers& at) {
  switch (p.x) {
    case Code::f32:
      return run_reduction(p, Extreme<float>{kFlipped, false}, Reads<ElementOf<Code::f32>>{}, at);
    case Code::bf16:
    case Code::f16:
      return run_reduction(p, Extreme<float>{kFlipped, false}, ReadsFloats{p.x}, at);
    case Code::f64:
      return run_reduction(p, Extreme<double>{kFlipped, false}, Reads<ElementOf<Code::f64>>{}, at);
    default:
      return run_reduction(p, Extreme<int64_t>{kFlipped, p.x == Code::u64}, ReadsIntegers{p.x}, at);
  }
}
template <bool kFlipped> void run_place(const Reduction& p, const Pointers& at) {
  if (p.x == Code::f64) return run_reduction(p, Place<double>{kFlipped, false}, Reads<ElementOf<Code::f64>>{}, at);
  if (is_usual(p.x)) return run_reduction(p, Place<float>{kFlipped, false}, ReadsFloats{p.x}, at);
  run_reduction(p, Place<int64_t>{kFlipped, p.x == Code::u64}, ReadsIntegers{p.x}, at);
}
void run_both(const Reduction& p, const Pointers& at) {
  if (p.x == Code::f64) return run_reduction(p, Both<double>{false}, Reads<ElementOf<Code::f64>>{}, at);
  if (is_usual(p.x)) return run_reduction(p, Both<float>{false}, ReadsFloats{p.x}, at);
  run_reduction(p, Both<int64_t>{p.x == Code::u64}, ReadsIntegers{p.x}, at);
}
template <auto kRun, bool kIndex> void plan(Call& c) { plan_reduction(c, c.plan.make<kRun, Reduction>(), 16, kIndex); }

const Registered ops[] = {
    {"amax", {.plan = plan<run_extreme<false>, false>}}, {"amin", {.plan = plan<run_extreme<true>, false>}},
    {"extremes", {.plan = plan<run_both, false>}},       {"argmax", {.plan = plan<run_place<false>, true>}},
    {"argmin", {.plan = plan<run_place<true>, true>}},
};

}  // namespace
}  // namespace dyadic::gpu
