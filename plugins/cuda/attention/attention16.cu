// Attention of bf16 and f16 on tensor cores: four warps of 16 queries each, 64 keys at a time, of which the next are on their
// way.
#include "plugins/cuda/attention/attention16.h"

#include <algorithm>

#include "plugins/cuda/attention/attention90.h"

namespace dyadic::gpu {
namespace {

constexpr int kQueries = 64, kKeys = 64, kThreads = 128;
constexpr float kLn2 = 0.6931471805599453f;

// What the parts of a row's keys give, where they are cut: sums of values, largest exponents (of 2), totals.
struct KeyParts {
  int64_t rows, width;
  float *sums, *most, *total;
  __device__ KeyParts(const AttentionPlan& p, void* at)
      : rows(p.batch * p.heads * p.tq), width(p.width), sums(static_cast<float*>(at)) {
    most = sums + p.parts * rows * width, total = most + p.parts * rows;
  }
};

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1) attention_mma(AttentionPlan p, AttentionPointers at) {
  constexpr int kPitch = kRowPitch<kWidth>, kTile = kKeys * kPitch, kN = kKeys / 8;
  DY_DYNAMIC_SHARED(uint16_t, room);  // queries, then twice keys and values
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const HeadRows b(p, p.tq, kQueries);
  const Rows16 q(p, at.q, p.q, b.head, p.tq), k(p, at.k, p.k, b.head, p.tk), v(p, at.v, p.v, b.head, p.tk);
  const int64_t seen = p.last_key(b.first + kQueries < p.tq ? b.first + kQueries : p.tq), begin = b.part * p.keys;
  const int64_t last = p.parts > 1 && begin + p.keys < seen ? begin + p.keys : seen;
  const auto fetch = [&](int64_t key, int turn) {
    uint16_t* const to = room + (1 + 2 * turn) * kTile;
    k.load<kKeys, kWidth, kThreads>(key, to), v.load<kKeys, kWidth, kThreads>(key, to + kTile);
    begin_group();
  };
  q.load<kQueries, kWidth, kThreads>(b.first, room);
  fetch(begin, 0);
  const uint16_t* const own = room + warp * 16 * kPitch;
  const float scale = float(p.scale * 1.4426950408889634);  // scores are exponents of 2
  const int64_t query = b.first + warp * 16 + lane / 4;     // the lane's first row; the other is 8 further
  float sum[kWidth / 8][4] = {}, most[2] = {kLowest<float>, kLowest<float>}, total[2] = {};
  int turn = 0;
  for (int64_t key = begin; key < last; key += kKeys, turn ^= 1) {
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
      DY_UNROLL for (int j = 0; j < kN; ++j) DY_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
        score[j][i] *= scale;
        if (sees(j, i)) top = Larger{}(top, score[j][i]);
      }
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
  DY_UNROLL for (int half = 0; half < 2; ++half) total[half] = warp_all<4>(total[half], Plus{});
  if (p.parts > 1) {
    const KeyParts to(p, at.partial);
    DY_UNROLL for (int half = 0; half < 2; ++half) {
      if (query + 8 * half >= p.tq) continue;
      const int64_t row = b.part * to.rows + b.head * p.tq + query + 8 * half;
      DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) DY_UNROLL for (int i = 0; i < 2; ++i) {
        const int64_t column = 8 * d + lane % 4 * 2 + i;
        if (column < p.width) to.sums[row * p.width + column] = sum[d][2 * half + i];
      }
      if (lane % 4 == 0) to.most[row] = most[half], to.total[row] = total[half];
    }
    return;
  }
  float by[2];
  DY_UNROLL for (int half = 0; half < 2; ++half) {
    const bool blind = total[half] == 0;
    by[half] = blind ? 0 : 1 / total[half];
    const int64_t row = query + 8 * half;
    if (lane % 4 == 0 && row < p.tq)
      static_cast<float*>(at.result_lse)[b.head * p.tq + row] =
          blind ? kLowest<float> : fmaf(most[half], kLn2, log_of(total[half]));
  }
  store_rows<H, kWidth>(p, at.result, p.out, b.head, b.first + warp * 16, p.tq, sum, by[0], by[1]);
}

// A warp for each query.
template <class H> __global__ void __launch_bounds__(kThreads) join_parts(AttentionPlan p, AttentionPointers at) {
  const KeyParts from(p, at.partial);
  const int lane = int(threadIdx.x) % kWarp;
  for (int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / kWarp; r < from.rows;
       r += int64_t(gridDim.x) * kThreads / kWarp) {
    float top = kLowest<float>, total = 0;
    for (int64_t part = 0; part < p.parts; ++part) top = Larger{}(top, from.most[part * from.rows + r]);
    const auto weight = [&](int64_t part) {
      const float most = from.most[part * from.rows + r];
      return most == top ? 1 : exp2f(most - top);
    };
    for (int64_t part = 0; part < p.parts; ++part) total = fmaf(from.total[part * from.rows + r], weight(part), total);
    const bool blind = total == 0;
    const int64_t head = r / p.tq, row = r % p.tq;
    uint16_t* const to = head_of(static_cast<uint16_t*>(at.result), p.out, head / p.heads, head % p.heads) + row * p.out.t;
    for (int64_t d = lane; d < p.width; d += kWarp) {
      float sum = 0;
      for (int64_t part = 0; part < p.parts; ++part)
        sum = fmaf(from.sums[(part * from.rows + r) * p.width + d], weight(part), sum);
      to[d] = H::nearest(blind ? 0 : sum / total);
    }
    if (lane == 0) static_cast<float*>(at.result_lse)[r] = blind ? kLowest<float> : fmaf(top, kLn2, log_of(total));
  }
}

}  // namespace

// Few queries of many keys, as when text is written, would keep a few blocks busy and leave the others idle.
int64_t plan_forward16(AttentionPlan& p) {
  constexpr int64_t kFewBlocks = 96, kWantedBlocks = 264, kLeastKeys = 512, kMaxParts = 32;
  const int64_t rows = p.batch * p.heads * p.tq, blocks = (p.tq + kQueries - 1) / kQueries * p.batch * p.heads;
  p.parts = 1;
  if (blocks == 0 || blocks >= kFewBlocks || p.tk < 2 * kLeastKeys) return 0;
  const int64_t parts = std::min({(kWantedBlocks + blocks - 1) / blocks, p.tk / kLeastKeys, kMaxParts});
  p.keys = ((p.tk + parts - 1) / parts + kKeys - 1) / kKeys * kKeys;
  p.parts = (p.tk + p.keys - 1) / p.keys;
  return p.parts > 1 ? p.parts * rows * (p.width + 2) * int64_t(sizeof(float)) : 0;
}

void forward16(const AttentionPlan& p, const AttentionPointers& at) {
  if (forward90(p, at)) return;
  with_width16(p, [&]<class H, int kWidth>() {
    Grid grid = HeadRows::grid(p, p.tq, kQueries, 5 * kKeys * kRowPitch<kWidth>);
    grid.blocks *= p.parts;
    launch(attention_mma<H, kWidth>, grid, p, at);
    if (p.parts > 1) launch(join_parts<H>, grid_for(p.batch * p.heads * p.tq * kWarp, 1, kThreads), p, at);
  });
}

}  // namespace dyadic::gpu
