// Tiles of heads of 16-bit numbers in shared memory, and products of a warp's 16 rows with them.
#pragma once
#include "plugins/cuda/attention/attention.h"

namespace dyadic::gpu {

template <int kWidth> inline constexpr int kRowPitch = kWidth + 8;  // rows of ldmatrix lie in different banks

// Rows of one head: width and the rows' steps may be anything; whole: 16 bytes at a time.
struct Rows16 {
  const uint16_t* at;
  int64_t step, count, width;
  bool whole;
  __device__ Rows16(const AttentionPlan& p, const void* from, const HeadSteps& s, int64_t head, int64_t count)
      : at(head_of(static_cast<const uint16_t*>(from), s, head / p.heads, head % p.heads)),
        step(s.t),
        count(count),
        width(p.width) {
    whole = width % 8 == 0 && step % 8 == 0 && is_aligned(at);
  }
  // Rows [first, first + kRows) as a tile, zeros beyond; kThreads threads.
  template <int kRows, int kWidth, int kThreads> __device__ void load(int64_t first, uint16_t* tile) const {
    constexpr int kRuns = kWidth / 8;
    DY_UNROLL for (int e = 0; e < kRows * kRuns / kThreads; ++e) {
      const int r = int(threadIdx.x) + e * kThreads, d = r % kRuns * 8;
      const int64_t row = first + r / kRuns;
      const uint16_t* const from = at + row * step + d;
      uint16_t* const to = tile + r / kRuns * kRowPitch<kWidth> + d;
      if (whole && row < count && d < width) {
        copy16(to, from);
      } else {
        DY_UNROLL for (int i = 0; i < 8; ++i) to[i] = row < count && d + i < width ? from[i] : uint16_t(0);
      }
    }
  }
};

// score[j] (16 x 8 each) += x y^T: x 16 rows, y 8 kN rows of kWidth numbers in shared memory.
template <class H, int kWidth, int kN>
__device__ inline void add_products(const uint16_t* x, const uint16_t* y, float (&score)[kN][4]) {
  constexpr int kPitch = kRowPitch<kWidth>;
  const int lane = int(threadIdx.x) % 32;
  DY_UNROLL for (int d = 0; d < kWidth; d += 16) {
    uint32_t a[4];
    load_matrices<false>(a, x + d + fragment_a(lane, kPitch));
    DY_UNROLL for (int j = 0; j < kN; j += 2) {
      uint32_t b[4];
      load_matrices<false>(b, y + 8 * j * kPitch + d + fragment_b(lane, kPitch));
      mma<H>(score[j], a, b[0], b[1]), mma<H>(score[j + 1], a, b[2], b[3]);
    }
  }
}
// sum[d] (16 x 8 each) += weight v: weight 16 x 8 kN as products left it, v 8 kN rows of kWidth numbers in shared memory.
template <class H, int kWidth, int kN>
__device__ inline void add_weighted(const float (&weight)[kN][4], const uint16_t* v, float (&sum)[kWidth / 8][4]) {
  constexpr int kPitch = kRowPitch<kWidth>;
  const int lane = int(threadIdx.x) % 32;
  DY_UNROLL for (int j = 0; j < kN; j += 2) {
    const uint32_t a[4] = {pack16<H>(weight[j][0], weight[j][1]), pack16<H>(weight[j][2], weight[j][3]),
                           pack16<H>(weight[j + 1][0], weight[j + 1][1]), pack16<H>(weight[j + 1][2], weight[j + 1][3])};
    DY_UNROLL for (int d = 0; d < kWidth / 8; d += 2) {
      uint32_t b[4];
      load_matrices<true>(b, v + 8 * j * kPitch + 8 * d + fragment_b_turned(lane, kPitch));
      mma<H>(sum[d], a, b[0], b[1]), mma<H>(sum[d + 1], a, b[2], b[3]);
    }
  }
}

// A warp's 16 rows from `first` on, times `by` of the lane's two rows.
template <class H, int kWidth>
__device__ inline void store_rows(const AttentionPlan& p, void* at, const HeadSteps& s, int64_t head, int64_t first,
                                  int64_t count, const float (&sum)[kWidth / 8][4], float by_low, float by_high) {
  uint16_t* const to = head_of(static_cast<uint16_t*>(at), s, head / p.heads, head % p.heads);
  const int lane = int(threadIdx.x) % 32;
  const bool pairs = p.width % 2 == 0 && s.t % 2 == 0 && is_aligned(to, 4);
  DY_UNROLL for (int half = 0; half < 2; ++half) {
    const int64_t row = first + lane / 4 + 8 * half;
    if (row >= count) continue;
    const float by = half ? by_high : by_low;
    DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) {
      const int64_t column = 8 * d + lane % 4 * 2;
      const uint32_t both = pack16<H>(sum[d][2 * half] * by, sum[d][2 * half + 1] * by);
      uint16_t* const place = to + row * s.t + column;
      if (pairs && column < p.width) {
        reinterpret_cast<Word4*>(place)->part = both;
      } else {
        if (column < p.width) place[0] = uint16_t(both);
        if (column + 1 < p.width) place[1] = uint16_t(both >> 16);
      }
    }
  }
}

// Which rows of which head a block has.
struct HeadRows {
  int64_t first, head, part;
  __device__ HeadRows(const AttentionPlan& p, int64_t count, int rows) {
    const int64_t tiles = (count + rows - 1) / rows, all = p.batch * p.heads, number = blockIdx.x;
    first = number % tiles * rows, head = number / tiles % all, part = number / tiles / all;
  }
  static Grid grid(const AttentionPlan& p, int64_t count, int rows, int64_t numbers) {
    return {.blocks = (count + rows - 1) / rows * p.batch * p.heads, .threads = rows * 2, .shared = numbers * 2};
  }
};

// f(Bf16 or F16, the width that kernels are compiled for)
template <class F> void with_width16(const AttentionPlan& p, F&& f) {
  const auto at = [&]<class H>(H) { p.width <= 64 ? f.template operator()<H, 64>() : f.template operator()<H, 128>(); };
  p.code == Code::bf16 ? at(Bf16{}) : at(F16{});
}

}  // namespace dyadic::gpu
