// Heads as the copy engine sees them: tensors of width, rows, heads and batch, fetched in boxes (wgmma.h).
#pragma once
#include "plugins/cuda/attention/attention.h"
#include "plugins/cuda/products/wgmma.h"

#if __CUDACC__

namespace dyadic::gpu {

struct HeadBoxes {
  CUtensorMap map;
  int heads, batch;  // 0: one for all of them

  template <int kRows, int kWidth> static constexpr int kBytes = kRows * kWidth * 2;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  // Rows [row, row + kRows) of a head; one thread.
  template <int kRows, int kWidth> __device__ void fetch(int row, int head, int entry, uint32_t to, Gate* g) const {
    DY_UNROLL for (int d = 0; d < kWidth; d += kBoxColumns)
        fetch_box(map, to + d * kRows * 2, g, d, row, head * heads, entry * batch);
  }
#endif
  // False: the copy engine cannot read these.
  bool set(const AttentionPlan& p, const void* at, const HeadSteps& s, int64_t rows, int box_rows);
};
bool is_hopper();  // the current device

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ inline uint32_t box_room(const unsigned char* shared) { return (shared_address(shared) + 1023) / 1024 * 1024; }

// The part of a block's warpgroups: one thread of the first fetches tiles, the others work.
template <class F, class W> __device__ inline void with_roles(bool any, F fetch, W work) {
  if (threadIdx.x < 128) {
    leave_registers<24>();
    if (threadIdx.x == 0 && any) fetch();
  } else {
    take_registers<240>();
    work();
  }
}

__device__ inline float power_of_2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Of a tile of which the lane's two rows see so many keys, its columns from `first` on.
template <int kN> __device__ inline void hide(float (&score)[kN][4], int first, const int (&seen)[2]) {
  DY_UNROLL for (int j = 0; j < kN; ++j) DY_UNROLL for (int i = 0; i < 4; ++i) if (first + 8 * j + i % 2 >= seen[i / 2])
      score[j][i] = -INFINITY;
}
template <class H, int kN> __device__ inline void round_weights(const float (&score)[kN][4], uint32_t (&weight)[kN / 2][4]) {
  DY_UNROLL for (int j = 0; j < kN; j += 2) {
    weight[j / 2][0] = pack16<H>(score[j][0], score[j][1]), weight[j / 2][1] = pack16<H>(score[j][2], score[j][3]);
    weight[j / 2][2] = pack16<H>(score[j + 1][0], score[j + 1][1]),
               weight[j / 2][3] = pack16<H>(score[j + 1][2], score[j + 1][3]);
  }
}

#endif

}  // namespace dyadic::gpu
#endif
