// Random numbers by counting: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC
// 2011). Element i of a stream is a function of (seed, stream, i) only: not of the thread, the cut, or what was drawn before.
//
// Note [Random streams]: block b of a stream is philox(b, stream, seed), four 32-bit words; word w of the stream is word w % 4
// of block w / 4. What elements are made of:
//   uniform f32: the top 24 bits of word i, in [0, 1)            uniform f64: the top 53 bits of words 2i (low), 2i + 1 (high)
//   normal f32: elements 2k and 2k + 1 by Box and Muller (1958) from words 2k (radius, 31 bits) and 2k + 1 (angle), |x| < 6.7
//   normal f64: elements 2k and 2k + 1 from block k: words 0, 1 (radius, 52 bits) and 2, 3 (angle), |x| < 8.6
// Bits and uniforms are the same on every instruction set; normals differ between them in the last bits.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

struct PhiloxBlock {
  uint32_t word[4];
  constexpr uint32_t operator[](int64_t i) const { return word[i]; }
};

// Static: files compiled per instruction set may use it without sharing a symbol.
[[gnu::always_inline]] static inline constexpr PhiloxBlock philox(uint64_t block, uint64_t stream, uint64_t seed) {
  uint32_t c0 = uint32_t(block), c1 = uint32_t(block >> 32), c2 = uint32_t(stream), c3 = uint32_t(stream >> 32);
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t a = uint64_t(c0) * 0xd2511f53u, b = uint64_t(c2) * 0xcd9e8d57u;
    uint32_t n0 = uint32_t(b >> 32) ^ c1 ^ k0, n2 = uint32_t(a >> 32) ^ c3 ^ k1;
    c1 = uint32_t(b), c3 = uint32_t(a), c0 = n0, c2 = n2;
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}
[[gnu::always_inline]] static inline constexpr uint32_t random_word(uint64_t seed, uint64_t stream, uint64_t i) {
  return philox(i / 4, stream, seed)[int64_t(i % 4)];
}

// Elements [begin, begin + n) of a stream. Single-threaded; call it on pieces of a parallel_for.
struct RandomKernel {
  void (*bits)(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, uint32_t* out);
  void (*uniform_f32)(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, float* out);
  void (*uniform_f64)(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, double* out);
  void (*normal_f32)(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, float* out);
  void (*normal_f64)(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, double* out);
};

// The whole of a stream's first n elements, on all threads.
void random_uniform(uint64_t seed, uint64_t stream, int64_t n, float* out);
void random_uniform(uint64_t seed, uint64_t stream, int64_t n, double* out);
void random_normal(uint64_t seed, uint64_t stream, int64_t n, float* out);
void random_normal(uint64_t seed, uint64_t stream, int64_t n, double* out);
// A number in [0, bound) from element i of a stream, without bias (Lemire 2019, by rejection within the block's words).
uint64_t random_below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t bound);
// low + random_below of elements 0 ... n - 1 (sums wrap), on all threads.
void random_integers(uint64_t seed, uint64_t stream, int64_t n, int64_t low, uint64_t bound, int64_t* out);
// The numbers below n in random order (Fisher and Yates): place i, from the last down, is exchanged with place random_below(i +
// 1) of element i + 1.
void random_permutation(uint64_t seed, uint64_t stream, int64_t n, int64_t* out);

}  // namespace dyadic::inline v1
DY_KERNEL(RandomKernel, random_kernel)
