// Attention of bf16 and f16 on tensor cores: four warps of 16 queries each, 64 keys at a time, of which the next are on their
// way.
#include "plugins/cuda/attention16.h"

namespace dyadic::gpu {
namespace {

constexpr int kQueries = 64, kKeys = 64, kThreads = 128;

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1) attention_mma(AttentionPlan p, AttentionPointers at) {
  constexpr int kPitch = kRowPitch<kWidth>, kTile = kKeys * kPitch, kN = kKeys / 8;
  DY_DYNAMIC_SHARED(uint16_t, room);  // queries, then twice keys and values
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const HeadRows b(p.tq, kQueries);
  const Rows16 q(p, at.q, p.q, b.head, p.tq), k(p, at.k, p.k, b.head, p.tk), v(p, at.v, p.v, b.head, p.tk);
  const int64_t last = p.last_key(b.first + kQueries < p.tq ? b.first + kQueries : p.tq);
  const auto fetch = [&](int64_t key, int turn) {
    uint16_t* const to = room + (1 + 2 * turn) * kTile;
    k.load<kKeys, kWidth, kThreads>(key, to), v.load<kKeys, kWidth, kThreads>(key, to + kTile);
    begin_group();
  };
  q.load<kQueries, kWidth, kThreads>(b.first, room);
  fetch(0, 0);
  const uint16_t* const own = room + warp * 16 * kPitch;
  const float scale = float(p.scale * 1.4426950408889634);  // scores are exponents of 2
  const int64_t query = b.first + warp * 16 + lane / 4;     // the lane's first row; the other is 8 further
  float sum[kWidth / 8][4] = {}, most[2] = {kLowest<float>, kLowest<float>}, total[2] = {};
  int turn = 0;
  for (int64_t key = 0; key < last; key += kKeys, turn ^= 1) {
    const uint16_t* const keys = room + (1 + 2 * turn) * kTile;
    if (key + kKeys < last) {
      fetch(key + kKeys, turn ^ 1);
      wait_groups<1>();
    } else {
      wait_groups<0>();
    }
    __syncthreads();
    float score[kN][4] = {};
    add_products<H, kWidth>(own, keys, score);
    const int64_t first = key + lane % 4 * 2;
    // A tile that all see whole needs no questions.
    const bool open = key + kKeys <= p.tk && (!p.causal || key + kKeys - 1 <= b.first + warp * 16 + (p.tk - p.tq));
    const auto sees = [&](int j, int i) { return open || p.sees(query + i / 2 * 8, first + 8 * j + i % 2); };
    DY_UNROLL for (int half = 0; half < 2; ++half) {
      float top = most[half], added = 0;
      DY_UNROLL for (int j = 0; j < kN; ++j)
          DY_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) if (score[j][i] *= scale; sees(j, i)) top =
              Larger{}(top, score[j][i]);
      top = warp_all<4>(top, Larger{});
      const float less = most[half] == top ? 1 : exp2f(most[half] - top);
      DY_UNROLL for (int j = 0; j < kN; ++j) DY_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
        score[j][i] = sees(j, i) ? exp2f(score[j][i] - top) : 0;
        added += score[j][i];
      }
      total[half] = fmaf(total[half], less, added);
      most[half] = top;
      DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) sum[d][2 * half] *= less, sum[d][2 * half + 1] *= less;
    }
    add_weighted<H, kWidth>(score, keys + kTile, sum);
    __syncthreads();  // the tile after the next goes where these lie
  }
  wait_groups<0>();
  float by[2];
  DY_UNROLL for (int half = 0; half < 2; ++half) {
    total[half] = warp_all<4>(total[half], Plus{});
    const bool blind = total[half] == 0;
    by[half] = blind ? 0 : 1 / total[half];
    const int64_t row = query + 8 * half;
    if (lane % 4 == 0 && row < p.tq)
      static_cast<float*>(at.result_lse)[b.head * p.tq + row] =
          blind ? kLowest<float> : fmaf(most[half], 0.6931471805599453f, log_of(total[half]));
  }
  store_rows<H, kWidth>(p, at.result, p.out, b.head, b.first + warp * 16, p.tq, sum, by[0], by[1]);
}

}  // namespace

void forward16(const AttentionPlan& p, const AttentionPointers& at) {
  with_width16(p, [&]<class H, int kWidth>() {
    launch(attention_mma<H, kWidth>, HeadRows::grid(p, p.tq, kQueries, 5 * kKeys * kRowPitch<kWidth>), p, at);
  });
}

}  // namespace dyadic::gpu
