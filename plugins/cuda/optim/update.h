// The pass over memory of all update rules (optim/fused.h, optim/adamw_kernel.cpp), with the same arithmetic for each element.
#pragma once
#include "plugins/cuda/simd.h"

#include "optim/adamw_math.h"
#include "optim/rules.h"
#include "plugins/cuda/optim/dynamic.h"

namespace dyadic::gpu {

// A rule of rules.h, by the type of its lambda.
enum class Changes : uint8_t { all, states, param };
template <int kStates_, class L, Changes kChanges_ = Changes::all> struct LambdaRule {
  static constexpr int kStates = kStates_;
  static constexpr Changes kChanges = kChanges_;
  static constexpr bool kFolded = false;
  static DY_DEVICE float factor(const UpdateWork&, int) { return 1; }
  // Of a run: the next parameter, and what was taken from it.
  template <class T, int N>
  static __device__ __forceinline__ void step(const UpdateWork& w, const T (&p)[N], const T (&g)[N], T (&s)[kStates + 1][N],
                                              T (&next)[N], T (&by)[N]) {
    using V = Vec<T>;
    V c[kMaxConstants];
    DY_UNROLL
    for (int i = 0; i < kMaxConstants; ++i) c[i] = V(T(w.constants[i]));
    DY_UNROLL
    for (int i = 0; i < N; ++i) {
      V states[kStates + 1];
      DY_UNROLL
      for (int k = 0; k < kStates; ++k) states[k] = V(s[k][i]);
      const V x(p[i]), scaled = fma(x, V(T(w.coupled)), V(g[i]) * V(T(w.scale)));
      const V step = fma(x, V(T(w.decoupled)), L{}(x, scaled, static_cast<V*>(states), static_cast<const V*>(c)));
      DY_UNROLL
      for (int k = 0; k < kStates; ++k) s[k][i] = states[k].v.raw;
      next[i] = (x - step).v.raw, by[i] = step.v.raw;
    }
  }
};
// a / (sqrt(v) b + c) of a run, every operation rounded once. What the card does for ordinary operands stands here without its
// question to each of them whether it is one: that is asked once for the run, so that the chains of all elements overlap. With
// a quotient of 2^-60 .. 2^100 and such a divisor, everything on the way is far from under- and overflow.
template <int N>
__device__ __forceinline__ void over_roots(const float (&a)[N], const float (&v)[N], float b, float c, float (&q)[N]) {
#if __CUDA_ARCH__
  bool ordinary = true;
  DY_UNROLL
  for (int i = 0; i < N; ++i) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v[i]));
    const float near = v[i] * r, root = __fmaf_rn(__fmaf_rn(-near, near, v[i]), r * 0.5f, near);
    const float d = __fmaf_rn(root, b, c);
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
    r = __fmaf_rn(r, __fmaf_rn(-d, r, 1), r);
    const float first = a[i] * r;
    q[i] = __fmaf_rn(r, __fmaf_rn(-d, first, a[i]), first);
    ordinary &= (v[i] >= 0x1p-100f) & (d >= 0x1p-30f) & (fabsf(q[i]) >= 0x1p-60f) & (fabsf(q[i]) <= 0x1p100f);
  }
  if (ordinary) return;
#endif
  DY_UNROLL
  for (int i = 0; i < N; ++i) q[i] = a[i] / __fmaf_rn(sqrtf(v[i]), b, c);
}

// AdamW's own (adamw::advance).
struct AdamwRule {
  static constexpr int kStates = 2;
  static constexpr Changes kChanges = Changes::all;
  static constexpr bool kFolded = true;  // states come multiplied by their betas
  static DY_DEVICE const adamw::Constants& constants(const UpdateWork& w) {
    static_assert(sizeof(w.adamw) == sizeof(adamw::Constants));
    return *reinterpret_cast<const adamw::Constants*>(w.adamw);
  }
  static DY_DEVICE float factor(const UpdateWork& w, int k) { return k == 0 ? constants(w).beta1 : constants(w).beta2; }
  // Of a run: the next parameter, and what was taken from it.
  template <int N>
  static __device__ __forceinline__ void step(const UpdateWork& w, const float (&p)[N], const float (&g)[N], float (&s)[3][N],
                                              float (&next)[N], float (&by)[N]) {
    const adamw::Constants& c = constants(w);
    float a[N], adam[N];
    DY_UNROLL
    for (int i = 0; i < N; ++i) {
      s[0][i] = __fmaf_rn(g[i], c.grad_to_m, s[0][i]);
      s[1][i] = __fmaf_rn(g[i] * g[i], c.grad_squared_to_v, s[1][i]);
      a[i] = c.step_size * s[0][i];
    }
    over_roots(a, s[1], c.inverse_root_bias2, c.eps, adam);
    DY_UNROLL
    for (int i = 0; i < N; ++i) {
      next[i] = __fmaf_rn(p[i], c.decay, -adam[i]);
      by[i] = __fmaf_rn(p[i], c.decayed, adam[i]);
    }
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

// What a thread has seen, as RuleResult; of elements at most 2^32 for each block.
struct Counts {
  uint32_t nonzero = 0, lost = 0;
  template <class T> DY_DEVICE void add(T by, T before, T after) {
    nonzero += by != 0;
    lost += by != 0 && after == before;
  }
  DY_DEVICE Counts operator+(Counts o) const {
    o.nonzero += nonzero, o.lost += lost;
    return o;
  }
  DY_DEVICE Measured measured() const { return {double(nonzero), double(lost), 0, 0}; }
};
struct Squares {
  double param = 0, step = 0;
  template <class T> DY_DEVICE void add(T p, T by) {
    param += double(p) * double(p);
    step += double(by) * double(by);
  }
  DY_DEVICE Squares operator+(Squares o) const { return Squares{param + o.param, step + o.step}; }
  DY_DEVICE Measured measured() const { return {0, 0, param, step}; }
};
template <class R> using Tally = std::conditional_t<R::kChanges == Changes::states, Squares, Counts>;

// What is stored of new parameters, and counted; `rest` becomes what rounding leaves.
template <Way kWay, bool kPlain, class T, int N>
__device__ __forceinline__ void round_run(const UpdateWork& w, int64_t run, int n, const T (&before)[N], const T (&by)[N],
                                          T (&next)[N], T (&rest)[N], Counts& mine) {
  if (kPlain || (kWay != Way::rare && w.rounds_to == kOwn<T> && !w.has_rest)) {
    bool rare = n < N;
    DY_UNROLL
    for (int i = 0; i < N; ++i) rare |= (next[i] == before[i]) | (by[i] == 0);
    mine.nonzero += rare ? 0 : N;
    if (rare) DY_UNROLL
    for (int i = 0; i < N; ++i)
      if (i < n) mine.add(by[i], before[i], next[i]);
    return;
  }
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
    if (i < n) mine.add(by[i], before[i], after);
  }
}

// A thread's run: what is read of it, and what becomes of that. States in codes are read and written by whoever has their
// block; s: the states, which come as the rule sees them.
template <class R, class T, Way kWay, bool kPlain> struct StepRun {
  static constexpr int N = kTaken<T, kWay>;
  HeldRun<T, N> param, grad, kept;
  __device__ __forceinline__ void read(const UpdateWork& w, int64_t run, int n) {
    param.template read<kPlain>(w.param, run, n);
    grad.template read<kPlain>(w.grad, run, n);
    if (!kPlain && w.has_rest) kept.read(w.rest, run, n);
  }
  __device__ __forceinline__ void step(const UpdateWork& w, int64_t run, int n, T (&s)[R::kStates + 1][N], Tally<R>& mine) {
    T p[N] = {}, g[N] = {}, rest[N] = {}, next[N], by[N];
    const bool has_rest = !kPlain && w.has_rest;
    if (n > 0) {
      param.template values<kPlain>(w.param, p);
      grad.template values<kPlain>(w.grad, g);
      if (has_rest) kept.values(w.rest, rest);
    }
    if (has_rest) DY_UNROLL
    for (int i = 0; i < N; ++i) p[i] += rest[i];
    R::step(w, p, g, s, next, by);
    if constexpr (R::kChanges == Changes::states) {
      DY_UNROLL
      for (int i = 0; i < N; ++i)
        if (i < n) mine.add(p[i], by[i]);
    } else {
      if (n <= 0) return;
      round_run<kWay, kPlain>(w, run, n, p, by, next, rest, mine);
      HeldRun<T, N>::template write<kPlain>(w.param, run, n, next);
      if (has_rest) HeldRun<T, N>::write(w.rest, run, n, rest);
    }
  }
};

template <class R, class T, Way kWay, bool kPlain>
__device__ __forceinline__ void update_run(const UpdateWork& w, int64_t run, int n, Tally<R>& mine) {
  constexpr int N = kTaken<T, kWay>;
  StepRun<R, T, kWay, kPlain> it;
  HeldRun<T, N> states[R::kStates + 1];
  T s[R::kStates + 1][N] = {};
  it.read(w, run, n);
  DY_UNROLL
  for (int k = 0; k < R::kStates; ++k) states[k].template read<kPlain>(w.state[k], run, n);
  DY_UNROLL
  for (int k = 0; k < R::kStates; ++k) {
    states[k].template values<kPlain>(w.state[k], s[k]);
    DY_UNROLL
    for (int i = 0; i < N; ++i)
      if (R::kFolded) s[k][i] *= R::factor(w, k);
  }
  it.step(w, run, n, s, mine);
  if constexpr (R::kChanges != Changes::param) {
    DY_UNROLL
    for (int k = 0; k < R::kStates; ++k) HeldRun<T, N>::template write<kPlain>(w.state[k], run, n, s[k]);
  }
}

// How a state is kept: AdamW's own are both in codes, of the others that is known when they run.
template <class R> __device__ __forceinline__ Kept kept_as(const UpdateWork& w, int k) {
  return !R::kFolded ? w.state[k].kept : k == 0 ? Kept::dynamic : Kept::udynamic;
}
// A run of a block of threads, all of whom call it; kWhole: all of them have whole runs. `told`: where this thread's warp tells
// the other one of its pair; what stands there has been read when it is given again.
template <class R, bool kWhole, bool kPlain>
__device__ __forceinline__ void update_codes(const UpdateWork& w, const InRoom& in, uint32_t told, int64_t run, int n,
                                             Tally<R>& mine) {
  constexpr int N = kTaken<float, Way::codes>, kStates = R::kStates;
  StepRun<R, float, Way::codes, kPlain> it;
  HeldRun<float, N> states[kStates];
  uint32_t codes[kStates] = {};
  float absmax[kStates] = {}, s[kStates + 1][N] = {};
  if (n > 0) {
    const bool whole = kWhole || (run / kCodeThreads + 1) * kStateBlock <= w.n;  // this block of codes
    it.read(w, run, n);
    DY_UNROLL
    for (int k = 0; k < kStates; ++k) {
      if (kept_as<R>(w, k) == Kept::plain) {
        states[k].read(w.state[k], run, n);
      } else {  // a last run's other bytes lie within the storage
        codes[k] = reinterpret_cast<const uint32_t*>(w.state[k].at)[run];
        absmax[k] = w.state[k].scale(run / kCodeThreads);
      }
    }
    DY_UNROLL
    for (int k = 0; k < kStates; ++k) {
      const Kept kept = kept_as<R>(w, k);
      const float factor = R::factor(w, k);
      if (kept == Kept::dynamic) decode_codes<true, R::kFolded>(in, codes[k], absmax[k], whole, factor, s[k]);
      if (kept == Kept::udynamic) decode_codes<false, R::kFolded>(in, codes[k], absmax[k], whole, factor, s[k]);
      if (kept == Kept::plain) states[k].values(w.state[k], s[k]);
    }
    it.step(w, run, n, s, mine);
  }
  if constexpr (R::kChanges != Changes::param) {
    DY_UNROLL
    for (int k = 0; k < kStates; ++k) {
      if (kept_as<R>(w, k) == Kept::plain) continue;
      if (!kWhole) DY_UNROLL
      for (int i = 0; i < N; ++i) s[k][i] = i < n ? s[k][i] : 0;
      const uint32_t most = largest_of_warp(magnitude_bits(s[k]));
      if (threadIdx.x % kWarp == 0) in.tell(told + 8 * unsigned(k), most);
    }
    __syncthreads();
    if (n <= 0) return;
    DY_UNROLL
    for (int k = 0; k < kStates; ++k) {
      const Kept kept = kept_as<R>(w, k);
      if (kept == Kept::plain) {
        HeldRun<float, N>::write(w.state[k], run, n, s[k]);
        continue;
      }
      const uint32_t most = in.larger((told & ~4u) + 8 * unsigned(k));
      if (threadIdx.x % kCodeThreads == 0)
        w.state[k].scale(run / kCodeThreads) = bits_float(most > kInfBits ? 0x7fc00000u : most);
      const uint32_t next = kept == Kept::dynamic ? encode_codes<true>(in, s[k], most) : encode_codes<false>(in, s[k], most);
      if (n == N)
        reinterpret_cast<uint32_t*>(w.state[k].at)[run] = next;
      else
        for (int i = 0; i < n; ++i) w.state[k].at[run * N + i] = char(next >> 8 * i);
    }
  }
}

template <class Tag, class T, Way kWay, bool kPlain>
__global__ void __launch_bounds__(kStepThreads, kPlain               ? 6
                                                : kWay == Way::codes ? 4
                                                                     : 3) update_runs(const __grid_constant__ UpdateWork w) {
  using R = typename Tag::Rule;
  constexpr int N = kTaken<T, kWay>;
  __shared__ Tally<R> room[kGroupRoom<kStepThreads>];
  Tally<R> mine;
  if constexpr (kWay == Way::codes) {
    __shared__ CodeRoom codes;
    const InRoom in = load_tables(codes);
    const unsigned warp = threadIdx.x / kWarp;
    uint32_t told =
        in.begin() + uint32_t(offsetof(CodeRoom, told)) + warp / 2 * uint32_t(sizeof(codes.told[0][0])) + warp % 2 * 4;
    constexpr int64_t kTile = kStepThreads * N;
    const int64_t whole = w.n / kTile * kStepThreads, runs = (w.n + kTile - 1) / kTile * kStepThreads;  // of blocks of threads
    static_assert(sizeof(codes.told[0]) == 64);
    for (int64_t run = first_thread(); run < runs; run += all_threads(), told ^= 64) {
      const int64_t left = w.n - run * N;
      if (run < whole)
        update_codes<R, true, kPlain>(w, in, told, run, N, mine);
      else
        update_codes<R, false, kPlain>(w, in, told, run, left >= N ? N : left > 0 ? int(left) : 0, mine);
    }
  } else {
    const int64_t whole = w.n / N, step = all_threads();
    int64_t run = first_thread();
    for (; run < whole; run += step) update_run<R, T, kWay, kPlain>(w, run, N, mine);
    if (run * N < w.n) update_run<R, T, kWay, false>(w, run, int(w.n - run * N), mine);
  }
  const Tally<R> all = group_all<kStepThreads>(mine, room, Plus());
  if (threadIdx.x == 0) w.pieces[blockIdx.x] = all.measured();
}

}  // namespace dyadic::gpu
