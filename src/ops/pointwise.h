// How a pointwise op becomes a record: one generic lambda for the result, one for each gradient. The lambda runs on SIMD
// vectors (the kernel), on a Probe at compile time (its FLOPs, what backward must keep) and on Traced values. For op files
// only: they are compiled once per instruction set.
//
//   extern constexpr OpDef expm1_op = pointwise<1, Types::float_out>(
//       {.sig = "expm1(Tensor self) -> Tensor", .doc = "exp(x) - 1, accurate near zero."},
//       [](auto x) { return expm1(x); },                       // result
//       [](auto g, auto x, auto y) { return g * (y + 1); });    // dL/dx of (gradient, inputs..., result)
//
// Scalar arguments of the signature follow as further parameters of every lambda: pointwise<1, Types::same, 1> has (x, alpha)
// and (g, x, y, alpha). An input without a gradient has no_grad in its place. holomorphic<...> is the same with complex
// numbers, with_complex(...) adds lambdas of their own for them.
#pragma once
#include <limits>

#include "base/simd/simd.h"
#include "corridor/op_def.h"
#include "ops/probe.h"
#include "ops/traced.h"
#include "ops/variants.h"

namespace dyadic::DY_ISA {

struct OpInfo {
  const char* sig;
  const char* doc = "";
  const char* aliases = "";
  Amp amp = Amp::promote;
  bool inplace = false;
  double low = -3, high = 3;
  const char* samples = "";
  const char* bad = "";
  const char* skip = "";
  bool bits = false;
  Tensor (*complex)(const Arg* args) = nullptr;
  Op (*variant)(Arg* args, int& n) = nullptr;
};
struct NoGradient {};
inline constexpr NoGradient no_grad{};

template <int... I> struct Indices {};
template <class T, int N> struct MakeIndices;
#define DY_INDICES(n, ...)                      \
  template <class T> struct MakeIndices<T, n> { \
    using type = Indices<__VA_ARGS__>;          \
  };
DY_INDICES(0)
DY_INDICES(1, 0)
DY_INDICES(2, 0, 1)
DY_INDICES(3, 0, 1, 2)
DY_INDICES(4, 0, 1, 2, 3)
DY_INDICES(5, 0, 1, 2, 3, 4)
#undef DY_INDICES

template <class T> inline constexpr bool is_real = false;
template <> inline constexpr bool is_real<float> = true;
template <> inline constexpr bool is_real<double> = true;

// What a lambda of an op on integers alone takes: [](Whole auto a, Whole auto b) { return gcd(a, b); }
template <class V> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<Vec<T>> = true;
template <class V>
concept Whole = !is_vector<V>;

template <class T, bool Real = is_real<T>> struct LaneType {
  using type = Lane<T>;
};
template <class T> struct LaneType<T, true> {
  using type = Vec<T>;
};

// in[0..N) are dense arrays; those the lambda does not read may be null. kUsed: bit i set if in[i] is read. kOne: of two inputs
// one may be a single element (kWide in `mode`).
template <class F, class T, int N, int P, unsigned kUsed, bool kOne, int... I, int... J>
[[gnu::always_inline]] inline void run_tile(const void* const* in, void* out, const double* params, int64_t n, unsigned mode,
                                            Indices<I...>, Indices<J...>) {
  using V = typename LaneType<T>::type;
  const T* const p[] = {static_cast<const T*>(in[I])...};
  const V c[P + 1] = {V(params[J])..., V(0)};
  const F f{};
  using R = decltype(f(V(p[I][0])..., c[J]...));
  constexpr bool kMask = !__is_same(R, V);
  if constexpr (is_real<T>) {
    constexpr int64_t L = int64_t(V::size());
    auto run = [&](auto... one) __attribute__((always_inline)) {  // whether an input is
      const V ones[] = {decltype(one)::value ? V(*p[I]) : V(0)...};
      auto load = [&](auto k, auto is_one, int64_t i) __attribute__((always_inline)) {
        constexpr int K = decltype(k)::value;
        if constexpr (!(kUsed >> K & 1)) return V(0);
        if constexpr (decltype(is_one)::value) return ones[K];
        // From memory it pays, as the machine prefetches to the end of a page at most; from a cache it costs 15 to 40 %.
        if (mode & kStream) __builtin_prefetch(p[K] + i + 2048 / sizeof(T));
        return V::load(p[K] + i);
      };
      auto load_n = [&](auto k, auto is_one, int64_t i, int64_t m) __attribute__((always_inline)) {
        constexpr int K = decltype(k)::value;
        if constexpr (decltype(is_one)::value) return ones[K];
        return (kUsed >> K & 1) ? V::load_n(p[K] + i, size_t(m)) : V(0);
      };
      int64_t i = 0;
      for (; i + L <= n; i += L) {
        R r = f(load(std::integral_constant<int, I>(), one, i)..., c[J]...);
        if constexpr (kMask)
          r.store(static_cast<uint8_t*>(out) + i);
        else if (mode & kStream)
          r.stream(static_cast<T*>(out) + i);
        else
          r.store(static_cast<T*>(out) + i);
      }
      if (i < n) {
        R r = f(load_n(std::integral_constant<int, I>(), one, i, n - i)..., c[J]...);
        if constexpr (kMask)
          r.store_n(static_cast<uint8_t*>(out) + i, size_t(n - i));
        else
          r.store_n(static_cast<T*>(out) + i, size_t(n - i));
      }
    };
    if constexpr (kOne) {
      static_assert(N == 2);
      constexpr std::true_type yes;
      constexpr std::false_type no;
      const bool first = mode & kWide << 0, second = mode & kWide << 1;
      if (first) return second ? run(yes, yes) : run(yes, no);
      if (second) return run(no, yes);
    }
    run(std::bool_constant<(I < 0)>()...);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      R r = f(V((kUsed >> I & 1) ? p[I][i] : T(0))..., c[J]...);
      if constexpr (kMask)
        static_cast<uint8_t*>(out)[i] = uint8_t(r.m);
      else
        static_cast<T*>(out)[i] = r.v;
    }
  }
}
template <class F, class T, int N, int P, unsigned kUsed, bool kOne = false>
void tile(const void* const* in, void* out, const double* params, int64_t n, unsigned mode) {
  run_tile<F, T, N, P, kUsed, kOne>(in, out, params, n, mode, typename MakeIndices<T, N>::type(),
                                    typename MakeIndices<T, P>::type());
}

// The same of bf16 in one loop (loops/tile.h): between tiles of floats that are decoded, computed and encoded one after the
// other, ports for stores and shuffles are idle in turn (neg of 4 Mi: 1.10 to 0.46 ms).
// kShort: of inputs that all are bf16 the results are too, and encoding rounds nothing (abs of 4 Mi: 0.20 to 0.12 ms).
template <class F, int N, int P, unsigned kUsed, bool kShort, int... I, int... J>
[[gnu::always_inline]] inline void run_bf16_tile(const void* const* in, void* out, const double* params, int64_t n,
                                                 unsigned mode, Indices<I...>, Indices<J...>) {
  using V = Vec<float>;
  constexpr int64_t kPair = FloatPair::size();
  const void* const p[] = {in[I]...};
  const V c[P + 1] = {V(params[J])..., V(0)};
  const F f{};
  auto load = [&](auto k, int64_t i) __attribute__((always_inline)) {
    constexpr int K = decltype(k)::value;
    if constexpr (!(kUsed >> K & 1)) return FloatPair{V(0), V(0)};
    if (mode & kWide << K) return FloatPair::load(static_cast<const float*>(p[K]) + i);
    return load_bf16(static_cast<const uint16_t*>(p[K]) + i);
  };
  auto run = [&](auto exact) __attribute__((always_inline)) {
    for (int64_t i = 0; i < n; i += kPair) {
      const FloatPair x[] = {load(std::integral_constant<int, I>(), i)...};
      auto low = f(x[I].low..., c[J]...), high = f(x[I].high..., c[J]...);
      if constexpr (!__is_same(decltype(low), V)) {
        low.store(static_cast<uint8_t*>(out) + i);
        high.store(static_cast<uint8_t*>(out) + i + kPair / 2);
      } else if (mode & kStream) {
        stream_bf16<decltype(exact)::value>({low, high}, static_cast<uint16_t*>(out) + i);
      } else {
        store_bf16<decltype(exact)::value>({low, high}, static_cast<uint16_t*>(out) + i);
      }
    }
  };
  if constexpr (kShort) {
    if (mode < kWide) return run(std::true_type());
  }
  run(std::false_type());
}
template <class F, int N, int P, unsigned kUsed, bool kShort>
void bf16_tile(const void* const* in, void* out, const double* params, int64_t n, unsigned mode) {
  run_bf16_tile<F, N, P, kUsed, kShort>(in, out, params, n, mode, typename MakeIndices<void, N>::type(),
                                        typename MakeIndices<void, P>::type());
}

// The same of narrow integers, computed in V: i32, or the integer itself where that makes no difference.
template <class F, class S, class V, int N, int P, int... I, int... J>
[[gnu::always_inline]] inline void run_narrow_lanes(const void* const* in, void* out, const double* params, int64_t n,
                                                    unsigned mode, Indices<I...>, Indices<J...>) {
  const S* const p[] = {static_cast<const S*>(in[I])...};
  const V c[P + 1] = {V(params[J])..., V(0)};
  const F f{};
  auto number = [&](auto k) {
    return mode & kWide << decltype(k)::value ? V(*static_cast<const int32_t*>(in[decltype(k)::value])) : V(0);
  };
  const V numbers[] = {number(std::integral_constant<int, I>())...};
  auto run = [&](auto... stored) __attribute__((always_inline)) {  // whether an input is
    for (int64_t i = 0; i < n; ++i) {
      auto r = f((decltype(stored)::value ? V(p[I][i]) : numbers[I])..., c[J]...);
      if constexpr (__is_same(decltype(r), V))
        static_cast<S*>(out)[i] = S(r.v);
      else
        static_cast<uint8_t*>(out)[i] = uint8_t(r.m);
    }
  };
  using Yes = std::true_type;
  if (mode == 0) return run(std::conditional_t<I >= 0, Yes, Yes>()...);
  if constexpr (N == 2) {
    if (mode == kWide << 1) return run(Yes(), std::false_type());
    if (mode == kWide << 0) return run(std::false_type(), Yes());
  }
  for (int64_t i = 0; i < n; ++i) {
    auto r = f((mode & kWide << I ? numbers[I] : V(p[I][i]))..., c[J]...);
    if constexpr (__is_same(decltype(r), V))
      static_cast<S*>(out)[i] = S(r.v);
    else
      static_cast<uint8_t*>(out)[i] = uint8_t(r.m);
  }
}
template <class F, class S, int N, int P, bool kWraps>
void narrow_tile(const void* const* in, void* out, const double* params, int64_t n, unsigned mode) {
  constexpr typename MakeIndices<void, N>::type inputs;
  constexpr typename MakeIndices<void, P>::type numbers;
  if constexpr (kWraps) {
    bool fit = true;  // the numbers, S
    for (int k = 0; k < N; ++k)
      if (mode & kWide << k) fit &= S(*static_cast<const int32_t*>(in[k])) == *static_cast<const int32_t*>(in[k]);
    for (int k = 0; k < P; ++k) fit &= params[k] >= std::numeric_limits<S>::min() && params[k] <= std::numeric_limits<S>::max();
    if (fit) return run_narrow_lanes<F, S, Lane<S>, N, P>(in, out, params, n, mode, inputs, numbers);
  }
  run_narrow_lanes<F, S, Lane<int32_t>, N, P>(in, out, params, n, mode, inputs, numbers);
}

// The same over complex numbers: pairs of T, taken apart into Complex<Vec<T>>. The result is complex, real or a mask.
template <class F, class T, int N, int P, unsigned kUsed, int... I, int... J>
[[gnu::always_inline]] inline void run_complex_tile(const void* const* in, void* out, const double* params, int64_t n,
                                                    Indices<I...>, Indices<J...>) {
  using V = Vec<T>;
  using C = Complex<V>;
  constexpr hn::ScalableTag<T> d{};
  constexpr int64_t L = int64_t(V::size());
  const T* const p[] = {static_cast<const T*>(in[I])...};
  const C c[P + 1] = {C(params[J])..., C(0)};
  const F f{};
  for (int64_t i = 0; i < n; i += L) {
    const int64_t m = n - i < L ? n - i : L;
    alignas(64) T tail[2 * L];
    auto load = [&](auto k) __attribute__((always_inline)) {
      if constexpr (!(kUsed >> decltype(k)::value & 1)) return C(0);
      const T* from = p[decltype(k)::value] + 2 * i;
      if (m < L) {
        for (int64_t j = 0; j < 2 * L; ++j) tail[j] = j < 2 * m ? from[j] : T(0);
        from = tail;
      }
      typename V::Raw re, im;
      hn::LoadInterleaved2(d, from, re, im);
      return C(V(re), V(im));
    };
    auto r = f(load(std::integral_constant<int, I>())..., c[J]...);
    if constexpr (__is_same(decltype(r), C)) {
      T* to = static_cast<T*>(out) + 2 * i;
      hn::StoreInterleaved2(r.re.v, r.im.v, d, m < L ? tail : to);
      if (m < L) __builtin_memcpy(to, tail, size_t(2 * m) * sizeof(T));
    } else if constexpr (__is_same(decltype(r), V)) {
      r.store_n(static_cast<T*>(out) + i, size_t(m));
    } else {
      r.store_n(static_cast<uint8_t*>(out) + i, size_t(m));
    }
  }
}
template <class F, class T, int N, int P, unsigned kUsed>
void complex_tile(const void* const* in, void* out, const double* params, int64_t n, unsigned) {
  run_complex_tile<F, T, N, P, kUsed>(in, out, params, n, typename MakeIndices<T, N>::type(),
                                      typename MakeIndices<T, P>::type());
}
// Whether the lambda takes vectors of floats.
template <class F, class V, int... I, int... J> constexpr bool takes(Indices<I...>, Indices<J...>) {
  return requires(V v) { F{}((void(I), v)..., (void(J), v)...); };
}
template <class F, int N, int P>
inline constexpr bool takes_floats =
    takes<F, Vec<float>>(typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());

template <class F, int N, int P, int... I, int... J> constexpr Probe probe(Cost* cost, Indices<I...>, Indices<J...>) {
  return F{}(Probe(cost, I)..., Probe(cost, 16 + J)...);
}
template <class F, int N, int P> constexpr Cost measure() {
  Cost c;
  Probe r = probe<F, N, P>(&c, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());
  if (r.id >= 0) c.used |= 1u << r.id;
  c.identity = r.id == 0 && c.flops == 0;
  c.short_ = r.short_;
  return c;
}

template <class F, int N, int P, int... I, int... J>
Traced run_traced(const Traced* in, const Traced* params, Indices<I...>, Indices<J...>) {
  return F{}(in[I]..., params[J]...);
}
template <class F, int N, int P> Traced trace(const Traced* in, const Traced* params) {
  return run_traced<F, N, P>(in, params, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());
}

template <int N, int P, class B> constexpr void set_gradient(OpDef& o, int k, B) {
  if constexpr (!__is_same(B, NoGradient)) {
    constexpr Cost c = measure<B, N + 2, P>();
    o.pw.grad[k][int(Compute::f32)] = tile<B, float, N + 2, P, c.used>;
    o.pw.grad[k][int(Compute::f64)] = tile<B, double, N + 2, P, c.used>;
    o.pw.grad_bf16[k] = bf16_tile<B, N + 2, P, c.used, false>;
    o.pw.trace_grad[k] = trace<B, N + 2, P>;
    o.pw.grad_flops[k] = c.flops;
    o.pw.grad_is_g[k] = c.identity;
    for (int i = 0; i < N; ++i)
      if (c.used >> (1 + i) & 1) o.needs[k] |= in(i);
    if (c.used >> (1 + N) & 1) o.needs[k] |= out(0);
  }
}

template <int N, Types types, int P = 0, class F, class... B> constexpr OpDef pointwise(OpInfo info, F, B... gradients) {
  static_assert(sizeof...(B) == 0 || sizeof...(B) == N, "one gradient (or no_grad) per tensor input");
  OpDef o{};
  o.sig = info.sig;
  o.doc = info.doc;
  o.aliases = info.aliases;
  o.variant = info.variant;
  o.kind = OpKind::pointwise;
  o.types = types;
  o.amp = info.amp;
  o.inplace = info.inplace;
  o.low = info.low;
  o.high = info.high;
  o.samples = info.samples;
  o.bad = info.bad;
  o.skip = info.skip;
  o.complex = info.complex;
  constexpr Cost c = measure<F, N, P>();
  o.pw.inputs = N;
  o.pw.bits = info.bits;
  o.pw.params = P;
  o.pw.flops = c.flops;
  if constexpr (takes_floats<F, N, P>) {
    constexpr bool kOne = N == 2 && c.flops < 10;  // where reading may take longer than computing
    o.pw.forward[int(Compute::f32)] = tile<F, float, N, P, c.used, kOne>;
    o.pw.forward[int(Compute::f64)] = tile<F, double, N, P, c.used, kOne>;
    o.pw.takes_one = kOne;
    o.pw.forward_bf16 = bf16_tile<F, N, P, c.used, c.short_>;
  }
  if constexpr (types != Types::float_out) {
    o.pw.forward[int(Compute::i32)] = tile<F, int32_t, N, P, c.used>;
    o.pw.forward[int(Compute::i64)] = tile<F, int64_t, N, P, c.used>;
    o.pw.forward[int(Compute::u64)] = tile<F, uint64_t, N, P, c.used>;
    o.pw.forward_narrow[kU8] = narrow_tile<F, uint8_t, N, P, c.wraps()>;
    o.pw.forward_narrow[kI8] = narrow_tile<F, int8_t, N, P, c.wraps()>;
    o.pw.forward_narrow[kI16] = narrow_tile<F, int16_t, N, P, c.wraps()>;
  }
  if constexpr (takes_floats<F, N, P>) o.pw.trace = trace<F, N, P>;
  int k = 0;
  (set_gradient<N, P>(o, k++, gradients), ...);
  (void)k;
  return o;
}

template <class F, int P, int... I, int... J> constexpr auto probe_complex(Cost* cost, Indices<I...>, Indices<J...>) {
  using C = Complex<Probe>;
  return F{}(C(Probe(cost, I), Probe(cost, I))..., C(Probe(cost, 16 + J))...);
}
template <class F, int N, int P> constexpr Cost measure_complex() {
  Cost c;
  probe_complex<F, P>(&c, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());
  return c;
}
template <class F, int N, int P>
inline constexpr bool gives_reals = __is_same(
    decltype(probe_complex<F, P>(nullptr, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type())),
    Probe);

template <int N, int P, class B> constexpr void set_complex_gradient(OpDef& o, int k, B) {
  if constexpr (!__is_same(B, NoGradient)) {
    constexpr Cost c = measure_complex<B, N + 2, P>();
    o.pw.grad[k][int(Compute::c64)] = complex_tile<B, float, N + 2, P, c.used>;
    o.pw.grad[k][int(Compute::c128)] = complex_tile<B, double, N + 2, P, c.used>;
    o.needs[k] |= uint16_t(c.used >> 1 & ((1u << N) - 1)) | (c.used >> (1 + N) & 1 ? out(0) : 0);
  }
}

// The op on complex numbers too: its own lambdas for result and gradients (dL/dRe + i dL/dIm, as PyTorch's).
template <int N, int P = 0, class F, class... B> constexpr OpDef with_complex(OpDef o, F, B... gradients) {
  constexpr Cost c = measure_complex<F, N, P>();
  o.pw.complex_flops = c.flops;
  o.pw.forward[int(Compute::c64)] = complex_tile<F, float, N, P, c.used>;
  o.pw.forward[int(Compute::c128)] = complex_tile<F, double, N, P, c.used>;
  o.pw.real_of_complex = o.types != Types::compare && gives_reals<F, N, P>;
  int k = 0;
  (set_complex_gradient<N, P>(o, k++, gradients), ...);
  (void)k;
  return o;
}

// The gradient of a holomorphic function: the conjugate of what the real gradient's formula gives of the conjugate of g.
template <class B> struct Conjugated {
  template <class G, class... X> constexpr auto operator()(G g, X... x) const { return conj(B{}(conj(g), x...)); }
};
template <class B> constexpr auto conjugated(B b) {
  if constexpr (__is_same(B, NoGradient))
    return b;
  else
    return Conjugated<B>{};
}
template <int N, Types types, int P = 0, class F, class... B> constexpr OpDef holomorphic(OpInfo info, F f, B... gradients) {
  return with_complex<N, P>(pointwise<N, types, P>(info, f, gradients...), f, conjugated(gradients)...);
}

}  // namespace dyadic::DY_ISA
