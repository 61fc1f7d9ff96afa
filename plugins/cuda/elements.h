// Elements of every scalar format as kernels read and write them. load<T>(code, at, i) gives element i as a T, store() rounds
// it once, both as formats/convert.cpp does: with the same text for one element (bits.h, mini_float.h). A format is known at
// run time, and the same for all threads of a launch; with_element() makes a type of it, for kernels that are compiled per
// format.
#pragma once
#ifndef DY_ISA  // the formats' text lies in a namespace of its own per instruction set
#define DY_ISA gpu
#endif
#include <type_traits>

#include "base/random.h"
#include "formats/bits.h"
#include "formats/format.h"
#include "formats/scalar/e8m0.h"
#include "formats/scalar/mini_float.h"
#include "plugins/cuda/language.h"
#if __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define DY_UNROLL _Pragma("unroll")
#else
#define DY_UNROLL
#endif

namespace dyadic::gpu {

// A thread's number in its grid, and the stride by which kernels go on.
__device__ __forceinline__ int64_t first_thread() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int64_t all_threads() { return int64_t(gridDim.x) * blockDim.x; }

enum class Code : uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  c64,
  c128,
  f8e4m3fn,
  f8e5m2,
  f8e4m3fnuz,
  f8e5m2fnuz,
  f8e3m4,
  f8e8m0fnu,
  none
};
Code code_of(const Format* format);  // none: blocked, or not known here

// A complex number; its real part is what others than complex numbers get of it.
template <class R> struct alignas(2 * sizeof(R)) Parts {
  R re, im;
};
template <class T> inline constexpr bool is_parts = false;
template <class R> inline constexpr bool is_parts<Parts<R>> = true;

// The card converts these in one instruction; what NaNs keep is the CPU's.
DY_DEVICE float half_value(uint16_t h) {
#if __CUDA_ARCH__
  const float x = __half2float(__ushort_as_half(h));
  const uint32_t nan = uint32_t(h & 0x8000u) << 16 | uint32_t(h & 0x7fffu) << 13 | 0x7fc00000u;
  return (h & 0x7fffu) > 0x7c00u ? bits_float(nan) : x;
#else
  return f16_value(h);
#endif
}
DY_DEVICE uint16_t half_nearest(float x) {
#if __CUDA_ARCH__
  const uint32_t u = float_bits(x), nan = (u >> 16 & 0x8000u) | 0x7e00u | (u >> 13 & 0x3ffu);
  return uint16_t((u & kAbsMask) > kInfBits ? nan : __half_as_ushort(__float2half_rn(x)));
#else
  return f16_nearest(x);
#endif
}
DY_DEVICE uint16_t brain_nearest(float x) {
#if __CUDA_ARCH__
  const uint32_t u = float_bits(x);
  return uint16_t((u & kAbsMask) > kInfBits ? u >> 16 | 0x40u : __bfloat16_as_ushort(__float2bfloat16_rn(x)));
#else
  return bf16_nearest(x);
#endif
}

// A value of one type as another: floats to integers truncate, integers wrap, bool is "not zero".
template <class T, class S> DY_DEVICE T number(S x) {
  if constexpr (std::is_same_v<T, S>) {
    return x;
  } else if constexpr (std::is_same_v<T, bool> && is_parts<S>) {
    return (x.re != 0) | (x.im != 0);
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != S(0);
  } else if constexpr (is_parts<T>) {
    using R = decltype(T::re);
    if constexpr (is_parts<S>)
      return {R(x.re), R(x.im)};
    else
      return {number<R>(x), R(0)};
  } else if constexpr (is_parts<S>) {
    return number<T>(x.re);
  } else if constexpr (std::is_floating_point_v<T> || !std::is_floating_point_v<S>) {
    return T(x);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return truncate_i32(x);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return truncate_u64(double(x));
  } else {
    return T(truncate_i64(double(x)));
  }
}
// As an f32 that is rounded once more: what f32 cannot hold is rounded to odd.
template <class T> DY_DEVICE float narrowed(T x) {
  if constexpr (is_parts<T>) {
    return narrowed(x.re);
  } else if constexpr (std::is_same_v<T, double>) {
    return round_to_odd(x);
  } else if constexpr (std::is_same_v<T, float> || sizeof(T) < 4) {
    return float(x);
  } else if constexpr (sizeof(T) == 4) {
    return round_to_odd(double(x));
  } else if constexpr (std::is_signed_v<T>) {
    return round_to_odd(sticky_double(int64_t(x)));
  } else {
    return round_to_odd(sticky_double(uint64_t(x)));
  }
}

// A format as a type: what is stored, the type that it is computed in, and the way between.
template <class S, class V = S> struct PlainElement {
  using Stored = S;
  using Value = V;
  static DY_DEVICE V value(S s) { return number<V>(s); }
  template <class T> static DY_DEVICE S stored(T x, Overflow = Overflow::standard) { return number<S>(x); }
};
struct BooleanElement {
  using Stored = uint8_t;
  using Value = int32_t;
  static DY_DEVICE int32_t value(uint8_t s) { return s != 0; }
  template <class T> static DY_DEVICE uint8_t stored(T x, Overflow = Overflow::standard) { return number<bool>(x); }
};
// Those narrower than f32, by F: their code from an f32, and from one and a random word.
struct Narrow {};
template <class F> struct NarrowElement : F, Narrow {
  using typename F::Stored;
  using Value = float;
  template <class T> static DY_DEVICE Stored stored(T x, Overflow o = Overflow::standard) {
    return Stored(F::nearest(narrowed(x), o));
  }
  template <class T> static DY_DEVICE Stored drawn(T x, uint32_t random, Overflow o) {
    return Stored(F::stochastic(narrowed(x), random, o));
  }
};
struct HalfBits {
  using Stored = uint16_t;
  static DY_DEVICE float value(uint16_t s) { return half_value(s); }
  static DY_DEVICE uint16_t nearest(float x, Overflow) { return half_nearest(x); }
  static DY_DEVICE uint16_t stochastic(float x, uint32_t random, Overflow) { return f16_stochastic(x, random); }
};
struct BrainBits {
  using Stored = uint16_t;
  static DY_DEVICE float value(uint16_t s) { return bf16_value(s); }
  static DY_DEVICE uint16_t nearest(float x, Overflow) { return brain_nearest(x); }
  static DY_DEVICE uint16_t stochastic(float x, uint32_t random, Overflow) { return bf16_stochastic(x, random); }
};
template <DY_ISA::Mini M> struct MiniBits {
  using Stored = uint8_t;
  using Float = DY_ISA::MiniFloat<M>;
  static DY_DEVICE float value(uint8_t s) { return Float::value(s); }
  static DY_DEVICE uint8_t nearest(float x, Overflow o) { return Float::nearest(x, Float::beyond({.overflow = o})); }
  static DY_DEVICE uint8_t stochastic(float x, uint32_t random, Overflow o) {
    return Float::stochastic(x, random, Float::beyond({.overflow = o}));
  }
};
struct PowerBits {
  using Stored = uint8_t;
  static DY_DEVICE float value(uint8_t s) { return DY_ISA::e8m0_value(s); }
  static DY_DEVICE uint32_t beyond(Overflow o) { return o == Overflow::saturate ? 254 : 255; }
  static DY_DEVICE uint8_t nearest(float x, Overflow o) { return DY_ISA::e8m0_nearest(x, beyond(o)); }
  static DY_DEVICE uint8_t stochastic(float x, uint32_t random, Overflow o) {
    return DY_ISA::e8m0_stochastic(x, random, beyond(o));
  }
};
template <class E> inline constexpr bool is_narrow = std::is_base_of_v<Narrow, E>;

template <Code> struct ElementOf : PlainElement<uint8_t, int32_t> {};
template <> struct ElementOf<Code::f32> : PlainElement<float> {};
template <> struct ElementOf<Code::f64> : PlainElement<double> {};
template <> struct ElementOf<Code::f16> : NarrowElement<HalfBits> {};
template <> struct ElementOf<Code::bf16> : NarrowElement<BrainBits> {};
template <> struct ElementOf<Code::i8> : PlainElement<int8_t, int32_t> {};
template <> struct ElementOf<Code::i16> : PlainElement<int16_t, int32_t> {};
template <> struct ElementOf<Code::i32> : PlainElement<int32_t> {};
template <> struct ElementOf<Code::i64> : PlainElement<int64_t> {};
template <> struct ElementOf<Code::u16> : PlainElement<uint16_t, int32_t> {};
template <> struct ElementOf<Code::u32> : PlainElement<uint32_t, int64_t> {};
template <> struct ElementOf<Code::u64> : PlainElement<uint64_t> {};
template <> struct ElementOf<Code::boolean> : BooleanElement {};
template <> struct ElementOf<Code::c64> : PlainElement<Parts<float>> {};
template <> struct ElementOf<Code::c128> : PlainElement<Parts<double>> {};
template <> struct ElementOf<Code::f8e4m3fn> : NarrowElement<MiniBits<DY_ISA::kF8e4m3fn>> {};
template <> struct ElementOf<Code::f8e5m2> : NarrowElement<MiniBits<DY_ISA::kF8e5m2>> {};
template <> struct ElementOf<Code::f8e4m3fnuz> : NarrowElement<MiniBits<DY_ISA::kF8e4m3fnuz>> {};
template <> struct ElementOf<Code::f8e5m2fnuz> : NarrowElement<MiniBits<DY_ISA::kF8e5m2fnuz>> {};
template <> struct ElementOf<Code::f8e3m4> : NarrowElement<MiniBits<DY_ISA::kF8e3m4>> {};
template <> struct ElementOf<Code::f8e8m0fnu> : NarrowElement<PowerBits> {};

// f(ElementOf<code>{}), on the host and on the device.
template <class F> DY_DEVICE decltype(auto) with_element(Code code, F f) {
  switch (code) {
    case Code::f32:
      return f(ElementOf<Code::f32>{});
    case Code::f64:
      return f(ElementOf<Code::f64>{});
    case Code::f16:
      return f(ElementOf<Code::f16>{});
    case Code::bf16:
      return f(ElementOf<Code::bf16>{});
    case Code::i8:
      return f(ElementOf<Code::i8>{});
    case Code::i16:
      return f(ElementOf<Code::i16>{});
    case Code::i32:
      return f(ElementOf<Code::i32>{});
    case Code::i64:
      return f(ElementOf<Code::i64>{});
    case Code::u16:
      return f(ElementOf<Code::u16>{});
    case Code::u32:
      return f(ElementOf<Code::u32>{});
    case Code::u64:
      return f(ElementOf<Code::u64>{});
    case Code::boolean:
      return f(ElementOf<Code::boolean>{});
    case Code::c64:
      return f(ElementOf<Code::c64>{});
    case Code::c128:
      return f(ElementOf<Code::c128>{});
    case Code::f8e4m3fn:
      return f(ElementOf<Code::f8e4m3fn>{});
    case Code::f8e5m2:
      return f(ElementOf<Code::f8e5m2>{});
    case Code::f8e4m3fnuz:
      return f(ElementOf<Code::f8e4m3fnuz>{});
    case Code::f8e5m2fnuz:
      return f(ElementOf<Code::f8e5m2fnuz>{});
    case Code::f8e3m4:
      return f(ElementOf<Code::f8e3m4>{});
    case Code::f8e8m0fnu:
      return f(ElementOf<Code::f8e8m0fnu>{});
    default:
      return f(ElementOf<Code::u8>{});
  }
}
DY_DEVICE int stored_bytes(Code code) {
  return with_element(code, [](auto e) { return int(sizeof(typename decltype(e)::Stored)); });
}

template <class T> DY_DEVICE T load(Code code, const void* at, int64_t i) {
  return with_element(code, [&](auto e) {
    using E = decltype(e);
    return number<T>(E::value(static_cast<const typename E::Stored*>(at)[i]));
  });
}
// x is a compute type's: float, double, int32_t, int64_t, uint64_t or Parts; or a bool.
template <class T> DY_DEVICE void store(Code code, void* at, int64_t i, T x) {
  with_element(code, [&](auto e) {
    using E = decltype(e);
    static_cast<typename E::Stored*>(at)[i] = E::stored(x);
  });
}
// How one element is rounded, with the word that it draws if that is stochastic.
struct Rounder {
  Overflow overflow = Overflow::standard;
  bool draws = false;
  uint32_t word = 0;

  Rounder() = default;
  DY_DEVICE Rounder(const Round& r, uint64_t element) : overflow(r.overflow), draws(r.mode == Rounding::stochastic) {
    if (draws) word = random_word(r.seed, r.stream, r.index + element);
  }
};
// The code of x. Overflow::saturate: saturate.h has clamped x.
template <class E, class T> DY_DEVICE typename E::Stored rounded(T x, const Rounder& r) {
  if constexpr (is_narrow<E>) {
    if (r.draws) return E::drawn(x, r.word, r.overflow);
  }
  return E::stored(x, r.overflow);
}

// Runs of neighbours by accesses as wide as they are, at most 16 bytes: the run's address is a multiple of that.
struct alignas(16) [[gnu::may_alias]] Word16 {
  uint32_t part[4];
};
struct alignas(8) [[gnu::may_alias]] Word8 {
  uint32_t part[2];
};
struct [[gnu::may_alias]] Word4 {
  uint32_t part;
};
struct [[gnu::may_alias]] Word2 {
  uint16_t part;
};
template <int kBytes> DY_DEVICE constexpr auto word_of() {
  if constexpr (kBytes % 16 == 0)
    return Word16{};
  else if constexpr (kBytes % 8 == 0)
    return Word8{};
  else if constexpr (kBytes % 4 == 0)
    return Word4{};
  else if constexpr (kBytes % 2 == 0)
    return Word2{};
  else
    return uint8_t{};
}
template <int kBytes> using Word = decltype(word_of<kBytes>());

template <int N, class S> DY_DEVICE void read_run(const S* from, S (&to)[N]) {
  using W = Word<N* int(sizeof(S))>;
  DY_UNROLL
  for (int k = 0; k < int(N * sizeof(S) / sizeof(W)); ++k) {
    const W word = reinterpret_cast<const W*>(from)[k];
    __builtin_memcpy(reinterpret_cast<char*>(to) + k * sizeof(W), &word, sizeof(W));
  }
}
// 16 bytes in one access, where nvcc would take an assignment apart.
#if __CUDACC__
__device__ __forceinline__ void put_words(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
#endif
template <class W> DY_DEVICE void put_word(W* to, const W& word) {
#if __CUDA_ARCH__
  if constexpr (sizeof(W) == 16) return put_words(to, word.part[0], word.part[1], word.part[2], word.part[3]);
#endif
  *to = word;
}
template <int N, class S> DY_DEVICE void write_run(const S (&from)[N], S* to) {
  using W = Word<N* int(sizeof(S))>;
  DY_UNROLL
  for (int k = 0; k < int(N * sizeof(S) / sizeof(W)); ++k) {
    W word;
    __builtin_memcpy(&word, reinterpret_cast<const char*>(from) + k * sizeof(W), sizeof(W));
    put_word(reinterpret_cast<W*>(to) + k, word);
  }
}
// N values from element i on, a multiple of N in an aligned tensor.
template <class E, int N, class T> DY_DEVICE void load_run(const void* at, int64_t i, T (&x)[N]) {
  typename E::Stored stored[N];
  read_run(static_cast<const typename E::Stored*>(at) + i, stored);
  DY_UNROLL
  for (int k = 0; k < N; ++k) x[k] = number<T>(E::value(stored[k]));
}
template <class E, int N, class T> DY_DEVICE void store_run(void* at, int64_t i, const T (&x)[N]) {
  typename E::Stored stored[N];
  DY_UNROLL
  for (int k = 0; k < N; ++k) stored[k] = E::stored(x[k]);
  write_run(stored, static_cast<typename E::Stored*>(at) + i);
}
template <int N, class T> DY_DEVICE void load_run(Code code, const void* at, int64_t i, T (&x)[N]) {
  with_element(code, [&](auto e) { load_run<decltype(e)>(at, i, x); });
}
template <int N, class T> DY_DEVICE void store_run(Code code, void* at, int64_t i, const T (&x)[N]) {
  with_element(code, [&](auto e) { store_run<decltype(e)>(at, i, x); });
}
inline int64_t padded(int64_t bytes) { return (bytes + 255) / 256 * 256; }  // of a part of a workspace
DY_DEVICE bool is_aligned(const void* p, int64_t bytes = 16) { return reinterpret_cast<uintptr_t>(p) % uint64_t(bytes) == 0; }

}  // namespace dyadic::gpu
