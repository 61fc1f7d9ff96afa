// Products of a warpgroup (four warps) on Hopper's tensor cores, sm_90a alone: c (64 x N, f32) += a (64 x 16) b (16 x N) of
// bf16 or f16, operands in shared memory as the copy engine writes them, a also in registers. A lane's part of c, and of an a
// in registers, is that of mma.h for its warp's 16 rows: c[j] are columns 8 j on.
//
// Note [Boxes]: a tile in shared memory is made of boxes of 64 columns (128 bytes), rows one behind the other, whose 16-byte
// pieces the copy engine swaps by the row's number (128-byte swizzle). Boxes begin at multiples of 1024 bytes.
#pragma once
#include "plugins/cuda/products/mma.h"

#if __CUDACC__
#include <cuda.h>

namespace dyadic::gpu {

inline constexpr int kBoxColumns = 64, kBoxPitch = 128;  // bytes of a row

// Where an operand lies, for the tensor cores. along: by rows of k together (a, and b by its columns); else by rows of columns
// together, of boxes with so many rows of k, one for each 64 columns.
__device__ inline uint64_t box_along(uint32_t at) {
  return uint64_t(at & 0x3ffff) >> 4 | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}
template <int kRows> __device__ inline uint64_t box_across(uint32_t at) {
  return uint64_t(at & 0x3ffff) >> 4 | uint64_t(kRows * kBoxPitch >> 4) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

__device__ inline uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// A barrier in shared memory: a phase is over when so many have arrived and so many bytes have come. Phases are waited for by
// their parity, 0 first.
using Gate = uint64_t;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Registers that products use are what other instructions have left there; products from here on belong together; all but the
// last kLeft such groups are done.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft> __device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

#define DY_C4(j) "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
#define DY_C16(j) DY_C4(j), DY_C4(j + 1), DY_C4(j + 2), DY_C4(j + 3)
#define DY_C32_TEXT                                                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31}"
#define DY_C64_TEXT                                                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "  \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

// a and b in shared memory, k together in both unless kAcross (of b); more: c is added to, else it begins at 0.
#define DY_SHARED(N, TYPE, TEXT, D, A, B, P)                  \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\n"                                                 \
               "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE " " TEXT ", " A ", " B ", p, 1, 1, 0, " D ";\n}"
template <class H, bool kAcross> __device__ inline void multiply(float (&c)[8][4], uint64_t a, uint64_t b, int more) {
  if constexpr (kIsBf16<H>)
    DY_SHARED("64", "bf16", DY_C32_TEXT, "%35", "%32", "%33", "%34") : DY_C16(0), DY_C16(4) : "l"(a), "l"(b), "r"(more), "n"(int(kAcross)));
  else
    DY_SHARED("64", "f16", DY_C32_TEXT, "%35", "%32", "%33", "%34") : DY_C16(0), DY_C16(4) : "l"(a), "l"(b), "r"(more), "n"(int(kAcross)));
}
template <class H, bool kAcross> __device__ inline void multiply(float (&c)[16][4], uint64_t a, uint64_t b, int more) {
  if constexpr (kIsBf16<H>)
    DY_SHARED("128", "bf16", DY_C64_TEXT, "%67", "%64", "%65", "%66")
    : DY_C16(0), DY_C16(4), DY_C16(8), DY_C16(12) : "l"(a), "l"(b), "r"(more), "n"(int(kAcross)));
  else
    DY_SHARED("128", "f16", DY_C64_TEXT, "%67", "%64", "%65", "%66")
    : DY_C16(0), DY_C16(4), DY_C16(8), DY_C16(12) : "l"(a), "l"(b), "r"(more), "n"(int(kAcross)));
}
// a in registers.
#define DY_HELD(N, TYPE, TEXT, D, A, B, P)                    \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\n"                                                 \
               "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE " " TEXT ", " A ", " B ", p, 1, 1, " D ";\n}"
#define DY_A4 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
template <class H, bool kAcross>
__device__ inline void multiply(float (&c)[8][4], const uint32_t (&a)[4], uint64_t b, int more) {
  if constexpr (kIsBf16<H>)
    DY_HELD("64", "bf16", DY_C32_TEXT, "%38", "{%32, %33, %34, %35}", "%36", "%37")
    : DY_C16(0), DY_C16(4) : DY_A4, "l"(b), "r"(more), "n"(int(kAcross)));
  else
    DY_HELD("64", "f16", DY_C32_TEXT, "%38", "{%32, %33, %34, %35}", "%36", "%37")
    : DY_C16(0), DY_C16(4) : DY_A4, "l"(b), "r"(more), "n"(int(kAcross)));
}
template <class H, bool kAcross>
__device__ inline void multiply(float (&c)[16][4], const uint32_t (&a)[4], uint64_t b, int more) {
  if constexpr (kIsBf16<H>)
    DY_HELD("128", "bf16", DY_C64_TEXT, "%70", "{%64, %65, %66, %67}", "%68", "%69")
    : DY_C16(0), DY_C16(4), DY_C16(8), DY_C16(12) : DY_A4, "l"(b), "r"(more), "n"(int(kAcross)));
  else
    DY_HELD("128", "f16", DY_C64_TEXT, "%70", "{%64, %65, %66, %67}", "%68", "%69")
    : DY_C16(0), DY_C16(4), DY_C16(8), DY_C16(12) : DY_A4, "l"(b), "r"(more), "n"(int(kAcross)));
}
#undef DY_C4
#undef DY_C16
#undef DY_C32_TEXT
#undef DY_C64_TEXT
#undef DY_SHARED
#undef DY_HELD
#undef DY_A4

// c += x y^T: x 64 rows, y N rows of kWidth numbers in boxes, of which a tile of x has kRowsX rows.
template <class H, int kWidth, int kRowsX, int kRowsY, int kN>
__device__ inline void multiply_rows(float (&c)[kN][4], uint32_t x, uint32_t y) {
  DY_UNROLL for (int k = 0; k < kWidth / 16; ++k) {
    const uint32_t box = k / 4, piece = k % 4 * 32;
    multiply<H, false>(c, box_along(x + box * kRowsX * kBoxPitch + piece), box_along(y + box * kRowsY * kBoxPitch + piece),
                       k > 0);
  }
}
// c += w y: w as a product left it, rounded: 64 rows of kRowsY numbers, y kRowsY rows in boxes.
template <class H, int kRowsY, int kN>
__device__ inline void multiply_held(float (&c)[kN][4], const uint32_t (&w)[kRowsY / 16][4], uint32_t y, int more = 1) {
  DY_UNROLL for (int k = 0; k < kRowsY / 16; ++k)
      multiply<H, true>(c, w[k], box_across<kRowsY>(y + k * 16 * kBoxPitch), k > 0 ? 1 : more);
}

template <int kRegisters> __device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters> __device__ inline void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

__device__ inline void open_gate(Gate* g, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(g)), "r"(arrivals) : "memory");
}
__device__ inline void publish_gates() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void arrive(Gate* g) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(g)) : "memory");
}
__device__ inline void expect_bytes(Gate* g, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(g)), "r"(bytes) : "memory");
}
__device__ inline void wait(Gate* g, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone:\n}" ::
          "r"(shared_address(g)),
      "r"(parity)
      : "memory");
}
// A box of a tensor of four dimensions, zeros where it reaches beyond.
__device__ inline void fetch_box(const CUtensorMap& map, uint32_t to, Gate* g, int column, int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(
          to),
      "l"(&map), "r"(shared_address(g)), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

#endif
}  // namespace dyadic::gpu
#endif
