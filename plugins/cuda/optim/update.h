// The pass over memory of all update rules (optim/fused.h, optim/adamw_kernel.cpp), with the same arithmetic for each element.
#pragma once
#include "plugins/cuda/simd.h"

#include "optim/adamw_math.h"
#include "optim/rules.h"
#include "plugins/cuda/optim/dynamic.h"

namespace dyadic::gpu {

template <class T> struct Moved {
  Vec<T> next, by;  // the new parameter, and what was taken from it
};

// A rule of rules.h, by the type of its lambda.
enum class Changes : uint8_t { all, states, param };
template <int kStates_, class L, Changes kChanges_ = Changes::all> struct LambdaRule {
  static constexpr int kStates = kStates_;
  static constexpr Changes kChanges = kChanges_;
  static constexpr bool kFolded = false;
  static DY_DEVICE float factor(const UpdateWork&, int) { return 1; }
  template <class T> static DY_DEVICE Moved<T> step(const UpdateWork& w, Vec<T> p, Vec<T> g, Vec<T>* s) {
    Vec<T> c[kMaxConstants];
    DY_UNROLL
    for (int i = 0; i < kMaxConstants; ++i) c[i] = Vec<T>(T(w.constants[i]));
    const Vec<T> scaled = fma(p, Vec<T>(T(w.coupled)), g * Vec<T>(T(w.scale)));
    const Vec<T> by = fma(p, Vec<T>(T(w.decoupled)), L{}(p, scaled, s, static_cast<const Vec<T>*>(c)));
    return {p - by, by};
  }
};
// AdamW's own.
struct AdamwRule {
  static constexpr int kStates = 2;
  static constexpr Changes kChanges = Changes::all;
  static constexpr bool kFolded = true;  // states come multiplied by their betas
  static DY_DEVICE const adamw::Constants& constants(const UpdateWork& w) {
    static_assert(sizeof(w.adamw) == sizeof(adamw::Constants));
    return *reinterpret_cast<const adamw::Constants*>(w.adamw);
  }
  static DY_DEVICE float factor(const UpdateWork& w, int k) { return k == 0 ? constants(w).beta1 : constants(w).beta2; }
  template <class T> static DY_DEVICE Moved<T> step(const UpdateWork& w, Vec<T> p, Vec<T> g, Vec<T>* s) {
    const adamw::Step r = adamw::advance(constants(w), g, p, s[0], s[1]);
    s[0] = r.m, s[1] = r.v;
    return {r.next, r.moved};
  }
};

// Runs of elements; the same where some states are in the dynamic code; one element after the other, where the parameter's
// format is another than f32, f64, bf16 and f16.
enum class Way : uint8_t { runs, codes, rare };
template <class T, Way kWay> inline constexpr int kTaken = kWay == Way::rare ? 1 : kStepRun<T>;

// x as the format holds it; stochastic: rounded by these random bits.
template <Way kWay, class T> __device__ __forceinline__ T as_held(Code code, T x, uint32_t random, bool stochastic) {
  if constexpr (kWay == Way::rare) {
    return with_element(code, [&](auto e) {
      using E = decltype(e);
      if constexpr (is_narrow<E>) {
        if (stochastic) return T(E::value(E::drawn(x, random, Overflow::standard)));
      }
      return number<T>(E::value(E::stored(x)));
    });
  } else if constexpr (sizeof(T) == 4) {
    if (code == Code::bf16) return bf16_value(stochastic ? bf16_stochastic(x, random) : brain_nearest(x));
    if (code == Code::f16) return half_value(stochastic ? f16_stochastic(x, random) : half_nearest(x));
  }
  return x;
}

template <class T> __device__ __forceinline__ void count_step(Measured& m, T by, T before, T after) {
  m.nonzero += by != 0;
  m.lost += by != 0 && after == before;
}
template <class T> __device__ __forceinline__ void add_squares(Measured& m, T p, T by) {
  m.param_squares += double(p) * double(p);
  m.step_squares += double(by) * double(by);
}

// What is stored of new parameters, and counted; `rest` becomes what rounding leaves.
template <Way kWay, class T, int N>
__device__ __forceinline__ void round_run(const UpdateWork& w, int64_t run, int n, const T (&before)[N], const T (&by)[N],
                                          T (&next)[N], T (&rest)[N], Measured& mine) {
  const bool stochastic = w.rounding.mode == Rounding::stochastic;
  PhiloxBlock random = {};
  if (stochastic) random = philox(uint64_t(run * N) / 4, w.rounding.stream, w.rounding.seed);
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    const int word = N == 4 ? i : int(run * N + i) % 4;
    T after = as_held<kWay>(w.rounds_to, next[i], random.word[word], stochastic);
    if (w.has_rest) rest[i] = next[i] - after;
    next[i] = after;
    if (w.has_rest) after += as_held<kWay>(w.rest.code, rest[i], 0, false);
    if (i < n) count_step(mine, by[i], before[i], after);
  }
}

// All threads of a block where there are codes.
template <class R, class T, Way kWay>
__device__ __forceinline__ void update_run(const UpdateWork& w, const CodeTables& tables, int64_t run, int n, Measured& mine) {
  constexpr int N = kTaken<T, kWay>;
  const auto in_codes = [&](int k) { return kWay == Way::codes && w.state[k].kept != Kept::plain; };
  HeldRun<T, N> param, grad, kept, states[R::kStates + 1];
  T p[N] = {}, g[N] = {}, rest[N] = {}, s[R::kStates + 1][N] = {}, next[N], by[N];
  if (n > 0) {
    param.read(w.param, run, n);
    grad.read(w.grad, run, n);
    if (w.has_rest) kept.read(w.rest, run, n);
    DY_UNROLL
    for (int k = 0; k < R::kStates; ++k) states[k].read(w.state[k], run, n);
    param.values(w.param, p);
    grad.values(w.grad, g);
    if (w.has_rest) kept.values(w.rest, rest);
    DY_UNROLL
    for (int k = 0; k < R::kStates; ++k) {
      if constexpr (kWay == Way::codes) {
        if (in_codes(k)) {
          const int64_t block = run / kCodeThreads;
          const bool whole = (block + 1) * kStateBlock <= w.n;
          decode_state(tables, w.state[k], states[k].r, w.state[k].scale(block), whole, R::kFolded, R::factor(w, k), s[k]);
          continue;
        }
      }
      states[k].values(w.state[k], s[k]);
      DY_UNROLL
      for (int i = 0; i < N; ++i)
        if (R::kFolded) s[k][i] *= R::factor(w, k);
    }
  }
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    if (w.has_rest) p[i] += rest[i];
    Vec<T> values[kMaxStates];
    DY_UNROLL
    for (int k = 0; k < R::kStates; ++k) values[k] = Vec<T>(s[k][i]);
    const Moved<T> r = R::template step<T>(w, Vec<T>(p[i]), Vec<T>(g[i]), values);
    DY_UNROLL
    for (int k = 0; k < R::kStates; ++k) s[k][i] = values[k].v.raw;
    next[i] = r.next.v.raw, by[i] = r.by.v.raw;
    if (R::kChanges == Changes::states && i < n) add_squares(mine, p[i], by[i]);
  }
  if constexpr (R::kChanges != Changes::param) {
    DY_UNROLL
    for (int k = 0; k < R::kStates; ++k) {
      if constexpr (kWay == Way::codes) {
        if (in_codes(k)) encode_state(tables, w.state[k], run, n, s[k]);
      }
      if (n > 0 && !in_codes(k)) HeldRun<T, N>::write(w.state[k], run, n, s[k]);
    }
  }
  if (R::kChanges == Changes::states || n <= 0) return;
  round_run<kWay>(w, run, n, p, by, next, rest, mine);
  HeldRun<T, N>::write(w.param, run, n, next);
  if (w.has_rest) HeldRun<T, N>::write(w.rest, run, n, rest);
}

template <class Tag, class T, Way kWay>
__global__ void __launch_bounds__(kWay == Way::codes ? kCodeThreads : kStepThreads, kWay == Way::codes ? 8 : 3)
    update_runs(const __grid_constant__ UpdateWork w) {
  constexpr int N = kTaken<T, kWay>, kThreads = kWay == Way::codes ? kCodeThreads : kStepThreads;
  __shared__ CodeTables tables;
  __shared__ Measured room[kGroupRoom<kThreads>];
  if (kWay == Way::codes) load_tables(tables);
  Measured mine;
  for (int64_t first = int64_t(blockIdx.x) * kThreads; first * N < w.n; first += int64_t(gridDim.x) * kThreads) {
    const int64_t run = first + threadIdx.x, left = w.n - run * N;
    update_run<typename Tag::Rule, T, kWay>(w, tables, run, left >= N ? N : left > 0 ? int(left) : 0, mine);
  }
  const Measured all = group_all<kThreads>(mine, room, AddMeasured());
  if (threadIdx.x == 0) w.pieces[blockIdx.x] = all;
}

}  // namespace dyadic::gpu
