// The kernels of pointwise ops: an op's lambda over a tile of dense elements, of each compute type, of bf16 and narrow integers
// as they are stored, of complex numbers. What a tile is: loops/tile.h.
#pragma once
#include <limits>

#include "loops/tile.h"
#include "ops/formula.h"

namespace dyadic::DY_ISA {

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

#if DY_ISA_reference  // no shorter ways: everything goes by the compute type
template <class F, int N, int P, unsigned kUsed, bool kShort> inline constexpr Tile bf16_tile = nullptr;
template <class F, class S, int N, int P, bool kWraps> inline constexpr Tile narrow_tile = nullptr;
#else
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
#endif

// The same over complex numbers: pairs of T, taken apart into Complex<Vec<T>>. The result is complex, real or a mask.
template <class F, class T, int N, int P, unsigned kUsed, int... I, int... J>
[[gnu::always_inline]] inline void run_complex_tile(const void* const* in, void* out, const double* params, int64_t n,
                                                    Indices<I...>, Indices<J...>) {
  using V = Vec<T>;
  using C = Complex<V>;
  constexpr hn::ScalableTag<T> d{};
  constexpr int64_t L = int64_t(V::size());
  const T* const p[] = {static_cast<const T*>(in[I])...};
  const C c[P + 1] = {C(V(params[J]), V(params[kMaxParams + J]))..., C(0)};
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
#if DY_ISA_reference
      return C(V(from[0]), V(from[1]));
#else
      typename V::Raw re, im;
      hn::LoadInterleaved2(d, from, re, im);
      return C(V(re), V(im));
#endif
    };
    auto r = f(load(std::integral_constant<int, I>())..., c[J]...);
    if constexpr (__is_same(decltype(r), C)) {
      T* to = static_cast<T*>(out) + 2 * i;
#if DY_ISA_reference
      r.re.store(to), r.im.store(to + 1);
#else
      hn::StoreInterleaved2(r.re.v, r.im.v, d, m < L ? tail : to);
#endif
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

}  // namespace dyadic::DY_ISA
