// Products on tensor cores as a warp makes them: c (16 x 8, f32) += a (16 x 16) b (16 x 8) of bf16 or f16, mma.sync of sm_80
// and later, and ldmatrix, which fills its registers. Without tensor cores the 32 lanes do the same by what they tell each
// other.
//
// Note [Fragments]: with g = lane / 4 and t = lane % 4, a lane holds of a: {row g, k 2t}, {row g + 8, k 2t}, {row g, k 2t + 8},
// {row g + 8, k 2t + 8}, each with its neighbour in k; of b: {k 2t, column g}, {k 2t + 8, column g}, likewise; of c: {row g,
// column 2t} and its neighbour, {row g + 8, column 2t} and its neighbour. So c, rounded, is an a of the next product.
#pragma once
#include "plugins/cuda/elements.h"

namespace dyadic::gpu {

struct Bf16 {
  static constexpr Code kCode = Code::bf16;
  DY_DEVICE static float value(uint16_t h) { return bf16_value(h); }
  DY_DEVICE static uint16_t nearest(float x) { return bf16_nearest(x); }
};
struct F16 {
  static constexpr Code kCode = Code::f16;
  DY_DEVICE static float value(uint16_t h) { return f16_value(h); }
  DY_DEVICE static uint16_t nearest(float x) { return f16_nearest(x); }
};
template <class H> inline constexpr bool kIsBf16 = H::kCode == Code::bf16;

// Two numbers rounded to 16 bits, the first in the low half.
template <class H> __device__ inline uint32_t pack16(float low, float high) {
#if __CUDA_ARCH__
  uint32_t r;
  if constexpr (kIsBf16<H>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return uint32_t(H::nearest(low)) | uint32_t(H::nearest(high)) << 16;
#endif
}
template <class H> DY_DEVICE float low16(uint32_t both) { return H::value(uint16_t(both)); }
template <class H> DY_DEVICE float high16(uint32_t both) { return H::value(uint16_t(both >> 16)); }

#if __CUDACC__

template <class H> __device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__
  if constexpr (kIsBf16<H>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// Four matrices of 8 x 8: lane l says where row l % 8 of matrix l / 8 begins (16 bytes of shared memory); r[i] of a lane is row
// lane / 4, elements 2 (lane % 4) and the next of matrix i; turned: of its transpose.
template <bool kTurned> __device__ inline void load_matrices(uint32_t (&r)[4], const uint16_t* row) {
#if __CUDA_ARCH__
  const auto at = uint32_t(__cvta_generic_to_shared(row));
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
#endif
}

#else

// In order of k, each product added in one rounding.
template <class H> inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Registers {
    uint32_t a[4], b[2];
  };
  const Registers* all = sim::exchange(Registers{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 16; ++k) {
      const int lower = k % 8 / 2, half = k / 8, column = 2 * t + i % 2;
      const uint32_t x = all[4 * g + lower].a[i / 2 + 2 * half], y = all[4 * column + lower].b[half];
      c[i] = k % 2 ? fmaf(high16<H>(x), high16<H>(y), c[i]) : fmaf(low16<H>(x), low16<H>(y), c[i]);
    }
}
template <bool kTurned> inline void load_matrices(uint32_t (&r)[4], const uint16_t* row) {
  const uint16_t* const* rows = sim::exchange(row);
  const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  for (int i = 0; i < 4; ++i) {
    const uint16_t low = kTurned ? rows[8 * i + 2 * t][g] : rows[8 * i + g][2 * t];
    const uint16_t high = kTurned ? rows[8 * i + 2 * t + 1][g] : rows[8 * i + g][2 * t + 1];
    r[i] = uint32_t(low) | uint32_t(high) << 16;
  }
}

#endif

// 16 bytes from global to shared memory while the block goes on; begun copies form a group with begin_group(), and
// wait_groups<n>() returns when all but the last n have arrived (for this thread: the others' need a barrier).
__device__ inline void copy16(uint16_t* to, const uint16_t* from) {
#if __CUDA_ARCH__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
  *reinterpret_cast<Word16*>(to) = *reinterpret_cast<const Word16*>(from);
#endif
}
// The same of which the first `bytes` are there to be read, and zeros behind them.
__device__ inline void copy_bytes16(uint8_t* to, const void* from, int bytes) {
  const int there = bytes >= 16 ? 16 : bytes < 0 ? 0 : bytes;
#if __CUDA_ARCH__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from),
               "r"(there)
               : "memory");
#else
  __builtin_memset(to, 0, 16);
  if (there) __builtin_memcpy(to, from, size_t(there));
#endif
}
__device__ inline void begin_group() {
#if __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kLeft> __device__ inline void wait_groups() {
#if __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

// Where a lane's row begins, for load_matrices: of an a of 16 rows and 16 k that lies by rows (k together) or, turned, by k; of
// two b's side by side (16 columns: registers {0, 1} and {2, 3}) that lie by columns (k together) or, turned, by k.
DY_DEVICE int fragment_a(int lane, int pitch) { return lane % 16 * pitch + lane / 16 * 8; }
DY_DEVICE int fragment_a_turned(int lane, int pitch) { return (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8; }
DY_DEVICE int fragment_b(int lane, int pitch) { return (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8; }
DY_DEVICE int fragment_b_turned(int lane, int pitch) { return lane % 16 * pitch + lane / 16 * 8; }

}  // namespace dyadic::gpu
