// Runs of elements of at most four bytes in words, as wide accesses have them, so that nothing waits for a load but what needs
// its values. Of f16 and bf16 the card converts two at a time; what NaNs keep, which is the CPU's, is asked once a run.
#pragma once
#include "plugins/cuda/elements.h"
#if __CUDACC__
#define DY_NO_UNROLL _Pragma("unroll 1")
#else
#define DY_NO_UNROLL
#endif

namespace dyadic::gpu {

// A product in one instruction: nvcc would have further ones for the high halves, which are zero.
DY_DEVICE uint64_t wide_product(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__
  uint64_t x;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(x) : "r"(a), "r"(b));
  return x;
#else
  return uint64_t(a) * b;
#endif
}

template <class E> inline constexpr bool is_half = std::is_same_v<E, ElementOf<Code::f16>>;
template <class E> inline constexpr bool is_brain = std::is_same_v<E, ElementOf<Code::bf16>>;

template <class S> DY_DEVICE S element_of(const uint32_t* words, int i) {
  if constexpr (sizeof(S) == 4)
    return __builtin_bit_cast(S, words[i]);
  else
    return S(words[i * int(sizeof(S)) / 4] >> i * int(8 * sizeof(S)) % 32);
}
template <class S> DY_DEVICE uint32_t word_of_element(S s) {
  if constexpr (sizeof(S) == 4)
    return __builtin_bit_cast(uint32_t, s);
  else
    return uint32_t(std::make_unsigned_t<S>(s));
}

DY_DEVICE bool is_nan(float x) { return x != x; }
template <class E> DY_DEVICE uint32_t nan_code(float x) {
  const uint32_t u = float_bits(x);
  return is_brain<E> ? u >> 16 | 0x40u : (u >> 16 & 0x8000u) | 0x7e00u | (u >> 13 & 0x3ffu);
}
template <class E> DY_DEVICE uint32_t two_nearest(float a, float b) {  // up to what NaNs keep
#if __CUDA_ARCH__
  uint32_t two;
  if constexpr (is_brain<E>) {
    const __nv_bfloat162 x = __floats2bfloat162_rn(a, b);
    __builtin_memcpy(&two, &x, sizeof(two));
  } else {
    const __half2 x = __floats2half2_rn(a, b);
    __builtin_memcpy(&two, &x, sizeof(two));
  }
  return two;
#else
  return uint32_t(E::stored(a)) | uint32_t(E::stored(b)) << 16;
#endif
}

template <class E, int N, class T> DY_DEVICE void values_of(const uint32_t* words, T (&x)[N]) {
  using S = typename E::Stored;
  if constexpr (is_brain<E> && std::is_same_v<T, float>) {
    DY_UNROLL
    for (int i = 0; i < N; ++i) x[i] = bits_float(i % 2 ? words[i / 2] & 0xffff0000u : words[i / 2] << 16);
  } else {
    DY_UNROLL
    for (int i = 0; i < N; ++i) x[i] = number<T>(E::value(element_of<S>(words, i)));
  }
}
template <class E, int N, class T> DY_DEVICE void store_of(const T (&x)[N], uint32_t* words) {
  using S = typename E::Stored;
  if constexpr ((is_brain<E> || is_half<E>) && std::is_same_v<T, float> && N % 2 == 0) {
    bool nan = false;
    DY_UNROLL
    for (int i = 0; i < N; i += 2) {
      words[i / 2] = two_nearest<E>(x[i], x[i + 1]);
      nan |= is_nan(x[i]) | is_nan(x[i + 1]);
    }
    if (nan) DY_UNROLL
    for (int i = 0; i < N; ++i)
      if (is_nan(x[i])) words[i / 2] = (words[i / 2] & 0xffff0000u >> i % 2 * 16) | nan_code<E>(x[i]) << i % 2 * 16;
  } else {
    constexpr int kEach = 4 / int(sizeof(S));
    DY_UNROLL
    for (int i = 0; i < N; i += kEach) {
      uint32_t word = 0;
      DY_UNROLL
      for (int k = 0; k < kEach && i + k < N; ++k) word |= word_of_element(E::stored(x[i + k])) << k * int(8 * sizeof(S));
      words[i / kEach] = word;
    }
  }
}

}  // namespace dyadic::gpu
