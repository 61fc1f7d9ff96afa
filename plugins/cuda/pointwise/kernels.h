// The kernels of pointwise ops. They are templates of a name (`exp_tag`) instead of the lambdas themselves, whose types nvcc
// takes in no kernel's. Each computes as the CPU's tile does (ops/pointwise_tiles.h): elements become the compute type, the
// lambda is called, its result is rounded once to what is stored.
//
// Note [Two kernels]: most calls have operands that are dense, or repeat along rows, in formats of at most four bytes: there a
// thread takes kRuns runs of neighbours, by accesses of 16 bytes where the formats allow it, so that enough of them are under
// way. All else, and what is computed in 8 or 16 bytes, takes an element per thread.
#pragma once
#include "plugins/cuda/pointwise/record.h"

#include "plugins/cuda/pointwise/op_kernel.h"

namespace dyadic::gpu {

// What an element of compute type T is to a lambda.
template <class T> struct Argument {
  using V = typename LaneType<T>::type;
  static DY_DEVICE V of(T x) {
    V v;
    if constexpr (is_real<T>)
      v = V(x);
    else
      v.v = x;
    return v;
  }
  static DY_DEVICE V param(const double* p, int j) { return V(p[j]); }
};
template <class R> struct Argument<Parts<R>> {
  using V = Complex<Vec<R>>;
  static DY_DEVICE V of(Parts<R> x) { return V(Vec<R>(x.re), Vec<R>(x.im)); }
  static DY_DEVICE V param(const double* p, int j) { return V(Vec<R>(p[j]), Vec<R>(p[kMaxParams + j])); }
};
template <class T> DY_DEVICE T plain(Vec<T> v) { return v.v.raw; }
template <class T> DY_DEVICE T plain(Lane<T> v) { return v.v; }
template <class T> DY_DEVICE bool plain(Mask<T> m) { return m.m.raw; }
DY_DEVICE bool plain(LaneMask m) { return m.m; }
template <class T> DY_DEVICE Parts<T> plain(Complex<Vec<T>> v) { return {plain(v.re), plain(v.im)}; }

// The lambda that a kernel is of: gradient k's, or the result's (k < 0).
template <class L, int k> struct Chosen {
  using type = typename L::template Gradient<k>;
};
template <class L> struct Chosen<L, -1> {
  using type = typename L::Result;
};
template <class Tag, int k, bool kComplex> struct Formula {
  using Op = typename Tag::Op;
  using F = typename Chosen<std::conditional_t<kComplex, typename Op::OnComplex, typename Op::Real>, k>::type;
  static constexpr int N = Op::kInputs + (k < 0 ? 0 : 2), P = Op::kParams;
  using Inputs = typename MakeIndices<void, N>::type;
  using Params = typename MakeIndices<void, P>::type;
  static constexpr Cost cost() {
    if constexpr (kComplex)
      return measure_complex<F, N, P>();
    else
      return measure<F, N, P>();
  }
  static constexpr unsigned kUsed = cost().used & ((1u << N) - 1);
  static constexpr DY_DEVICE bool reads(int j) { return kUsed >> j & 1; }

  template <class T, int... I, int... J>
  static DY_DEVICE auto apply(const T* x, [[maybe_unused]] const double* params, Indices<I...>, Indices<J...>) {
    return plain(F{}(Argument<T>::of(x[I])..., Argument<T>::param(params, J)...));
  }
  template <class T> static DY_DEVICE auto apply(const T* x, const double* params) {
    return apply(x, params, Inputs(), Params());
  }
};

template <class T> DY_DEVICE T number_of(const Work& w, int k) {
  T x;
  __builtin_memcpy(&x, w.number[k], sizeof(T));
  return x;
}
template <class T> DY_DEVICE T operand(const Work& w, int k, int64_t offset) {
  return w.lies[k] == Lies::number ? number_of<T>(w, k) : load_one<T>(w.code[k], w.at[k] + offset);
}

template <class Tag, int k, class T>
__global__ void __launch_bounds__(kThreads, 1) pointwise_elements(const __grid_constant__ Work w) {
  using F = Formula<Tag, k, is_parts<T>>;
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < w.units; i += gridDim.x * kThreads) {
    int64_t offset[F::N + 1];
    w.find<F::kUsed | 1u << F::N>(i, offset);
    T x[F::N + 1];
    DY_UNROLL
    for (int j = 0; j < F::N; ++j) x[j] = F::reads(j) ? operand<T>(w, j, offset[j]) : T{};
    store_one(w.code[F::N], const_cast<char*>(w.at[F::N]) + offset[F::N], F::apply(x, w.params));
  }
}

// The operands of a thread's runs as they are stored. A group is what the formula is computed of at once: a run of kGroup, or
// all of the thread's of kRun, whose words lie without gaps.
using StoredGroup = StoredRun<kGroup>;
template <class F, class T> struct LoadedRuns {
  static constexpr int N = F::N;
  StoredGroup stored[N + 1];
  char *to, *to_second;

  template <int r> DY_DEVICE void load(const Work& w, uint32_t unit) {
    int64_t offset[N + 1];
    w.find_run<F::kUsed | 1u << N>(unit, offset);
    DY_UNROLL
    for (int j = 0; j < N; ++j) {
      if (!F::reads(j) || w.lies[j] == Lies::number) continue;
      const char* const at = w.at[j] + offset[j];
      if (w.lies[j] == Lies::strided)
        read_part<r>(stored[j], at, w.bytes[j], w.run);
      else
        stored[j].part[r * kRun] = read_single(at, w.bytes[j]);
    }
    (r ? to_second : to) = const_cast<char*>(w.at[N]) + offset[N];
  }
  DY_DEVICE StoredGroup compute(const Work& w) const {
    T x[kGroup][N + 1];
    DY_UNROLL
    for (int j = 0; j < N; ++j) {
      T group[kGroup] = {};
      if (F::reads(j) && w.lies[j] == Lies::strided) {
        decode(stored[j], w.code[j], group);
      } else if (F::reads(j)) {
        T one, other;
        if (w.lies[j] == Lies::number) {
          one = other = number_of<T>(w, j);
        } else {
          one = decode_single<T>(stored[j].part[0], w.code[j]);
          other = w.run == kRun ? decode_single<T>(stored[j].part[kRun], w.code[j]) : one;
        }
        DY_UNROLL
        for (int e = 0; e < kGroup; ++e) group[e] = e < kRun ? one : other;
      }
      DY_UNROLL
      for (int e = 0; e < kGroup; ++e) x[e][j] = group[e];
    }
    decltype(F::apply(x[0], w.params)) y[kGroup];
    DY_UNROLL
    for (int e = 0; e < kGroup; ++e) y[e] = F::apply(x[e], w.params);
    StoredGroup result;
    encode(result, w.code[N], y);
    return result;
  }
  DY_DEVICE void next() {
    to = to_second;
    DY_UNROLL
    for (int i = 0; i < N * kRun; ++i) stored[i / kRun].part[i % kRun] = stored[i / kRun].part[kRun + i % kRun];
  }
};
// Blocks that a multiprocessor must have registers for: more loads are under way. (Of functions that would spill, one.)
template <class Tag> inline constexpr int kBlocks = 1;
#define DY_IN_FEW_REGISTERS(name) \
  struct name##_tag;              \
  template <> inline constexpr int kBlocks<name##_tag> = 4;
DY_IN_FEW_REGISTERS(add)
DY_IN_FEW_REGISTERS(add_scaled)
DY_IN_FEW_REGISTERS(div)
DY_IN_FEW_REGISTERS(exp)
DY_IN_FEW_REGISTERS(gated)
DY_IN_FEW_REGISTERS(gelu)
DY_IN_FEW_REGISTERS(gelu_tanh)
DY_IN_FEW_REGISTERS(mul)
DY_IN_FEW_REGISTERS(sigmoid)
DY_IN_FEW_REGISTERS(silu)
DY_IN_FEW_REGISTERS(sub)
DY_IN_FEW_REGISTERS(tanh)
#undef DY_IN_FEW_REGISTERS

template <class Tag, int k, class T>
__global__ void __launch_bounds__(kThreads, kBlocks<Tag>) pointwise_runs(const __grid_constant__ Work w) {
  using F = Formula<Tag, k, false>;
  const uint32_t first = blockIdx.x * (kRuns * kThreads) + threadIdx.x, second = first + kThreads, last = w.units - 1;
  if (first > last) return;
  LoadedRuns<F, T> runs;  // all loads are under way before the first value is needed
  runs.template load<0>(w, first);
  runs.template load<1>(w, second < last ? second : last);
  DY_NO_UNROLL
  for (uint32_t unit = first;; unit = second) {
    const StoredGroup result = runs.compute(w);
    write_part<0>(result, runs.to, w.bytes[F::N], w.run, unit == last ? w.rest : w.run);
    if (unit != first || second > last) return;
    if (w.run == kRun) return write_part<1>(result, runs.to_second, w.bytes[F::N], kRun, second == last ? w.rest : kRun);
    runs.next();
  }
}

// The kernels of an op and its gradients.
template <class Tag> struct OpKernels {
  using Op = typename Tag::Op;
  static constexpr int N = Op::kInputs, P = Op::kParams;
  static constexpr bool kFloats = takes_floats<typename Op::Real::Result, N, P>;
  static constexpr bool kComplex = !std::is_same_v<typename Op::OnComplex, NoFormulas>;
  template <int k> static inline OpKernel kernel;  // -1: the op's; its gradients'

  explicit OpKernels(const char* name) { add<-1, true, kComplex>(name); }

 private:
  template <int k> static void plan(Call& c) { plan_pointwise(c, kernel<k>); }
  template <int k, class T> static void set(Compute c) { kernel<k>.elements[int(c)] = pointwise_elements<Tag, k, T>; }
  template <int k, class T> static void set_both(Compute c) {
    set<k, T>(c);
    kernel<k>.runs[int(c)] = pointwise_runs<Tag, k, T>;
  }
  template <class F> static void describe(OpKernel& o) { o.inputs = F::N, o.params = F::P, o.used |= F::kUsed; }
  template <int k> static void real() {
    describe<Formula<Tag, k, false>>(kernel<k>);
    if constexpr (k >= 0 || kFloats) {
      set_both<k, float>(Compute::f32);
      set<k, double>(Compute::f64);
    }
    if constexpr (k < 0 && Op::kTypes != Types::float_out) {
      set_both<k, int32_t>(Compute::i32);
      set<k, int64_t>(Compute::i64);
      set<k, uint64_t>(Compute::u64);
    }
  }
  template <int k> static void complex() {
    describe<Formula<Tag, k, true>>(kernel<k>);
    set<k, Parts<float>>(Compute::c64);
    set<k, Parts<double>>(Compute::c128);
  }
  template <int k, class L> static constexpr bool has() {
    if constexpr (k < L::kGradients)
      return !std::is_same_v<typename L::template Gradient<k>, NoGradient>;
    else
      return false;
  }
  template <int k, bool kReal, bool kOnComplex> static void add(const char* name) {
    if constexpr (kReal) real<k>();
    if constexpr (kOnComplex) complex<k>();
    if constexpr (kReal || kOnComplex) add_pointwise(name, {.plan = plan<k>}, k);
    if constexpr (k + 1 < N) add<k + 1, has<k + 1, typename Op::Real>(), has<k + 1, typename Op::OnComplex>()>(name);
  }
};

}  // namespace dyadic::gpu
