// Gradients of attention of bf16 and f16 on tensor cores: one kernel for the queries, one for keys and values, each with 16
// rows of its own per warp and 32 rows of the other side at a time. Scores and probabilities are made again from what forward
// left.
#include "plugins/cuda/attention/attention16.h"

#include "plugins/cuda/attention/attention90.h"

namespace dyadic::gpu {
namespace {

constexpr int kOwn = 64, kOthers = 32, kThreads = 128;

// score: a query's product with a key becomes its probability, slope: dout . v becomes the gradient of the score.
// Exponents are of 2.
constexpr float kLog2 = 1.4426950408889634f;
__device__ inline void finish(const AttentionPlan& p, bool sees, float lse, float delta, float& score, float& slope) {
  score = sees ? exp2f(fmaf(score, float(p.scale) * kLog2, -lse)) : 0;
  slope = sees ? score * (slope - delta) * float(p.scale) : 0;
}

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1) query_gradients_mma(AttentionPlan p, AttentionPointers at) {
  constexpr int kPitch = kRowPitch<kWidth>, kTile = kOwn * kPitch, kOther = kOthers * kPitch, kN = kOthers / 8;
  DY_DYNAMIC_SHARED(uint16_t, room);  // queries, dout; keys, values
  uint16_t *const keys = room + 2 * kTile, *const values = keys + kOther;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const HeadRows b(p, p.tq, kOwn);
  const Rows16 q(p, at.q, p.q, b.head, p.tq), k(p, at.k, p.k, b.head, p.tk), v(p, at.v, p.v, b.head, p.tk);
  const Rows16 dout(p, at.dout, p.dout, b.head, p.tq);
  q.load<kOwn, kWidth, kThreads>(b.first, room), dout.load<kOwn, kWidth, kThreads>(b.first, room + kTile);
  const int64_t query = b.first + warp * 16 + lane / 4;
  float lse[2], delta[2];
  DY_UNROLL for (int half = 0; half < 2; ++half) {
    const int64_t row = query + 8 * half, place = b.head * p.tq + (row < p.tq ? row : 0);
    lse[half] = static_cast<const float*>(at.lse)[place] * kLog2, delta[half] = static_cast<const float*>(at.delta)[place];
  }
  float sum[kWidth / 8][4] = {};
  const int64_t last = p.last_key(b.first + kOwn < p.tq ? b.first + kOwn : p.tq);
  for (int64_t key = 0; key < last; key += kOthers) {
    k.load<kOthers, kWidth, kThreads>(key, keys), v.load<kOthers, kWidth, kThreads>(key, values);
    begin_group(), wait_groups<0>();
    __syncthreads();
    float score[kN][4] = {}, slope[kN][4] = {};
    const uint16_t* const own = room + warp * 16 * kPitch;
    add_products<H, kWidth>(own, keys, score), add_products<H, kWidth>(own + kTile, values, slope);
    DY_UNROLL for (int j = 0; j < kN; ++j) DY_UNROLL for (int i = 0; i < 4; ++i) {
      const int64_t row = query + i / 2 * 8;
      const bool sees = row < p.tq && p.sees(row, key + 8 * j + lane % 4 * 2 + i % 2);
      finish(p, sees, lse[i / 2], delta[i / 2], score[j][i], slope[j][i]);
    }
    add_weighted<H, kWidth>(slope, keys, sum);
    __syncthreads();
  }
  wait_groups<0>();
  store_rows<H, kWidth>(p, at.dq, p.dq, b.head, b.first + warp * 16, p.tq, sum, 1, 1);
}

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1) key_gradients_mma(AttentionPlan p, AttentionPointers at) {
  constexpr int kPitch = kRowPitch<kWidth>, kTile = kOwn * kPitch, kOther = kOthers * kPitch, kN = kOthers / 8;
  DY_DYNAMIC_SHARED(uint16_t, room);  // keys, values; queries, dout
  uint16_t *const queries = room + 2 * kTile, *const douts = queries + kOther;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const HeadRows b(p, p.tk, kOwn);
  const Rows16 q(p, at.q, p.q, b.head, p.tq), k(p, at.k, p.k, b.head, p.tk), v(p, at.v, p.v, b.head, p.tk);
  const Rows16 dout(p, at.dout, p.dout, b.head, p.tq);
  k.load<kOwn, kWidth, kThreads>(b.first, room), v.load<kOwn, kWidth, kThreads>(b.first, room + kTile);
  const int64_t key = b.first + warp * 16 + lane / 4;
  float dk[kWidth / 8][4] = {}, dv[kWidth / 8][4] = {};
  for (int64_t query = p.first_query(b.first) / kOthers * kOthers; query < p.tq; query += kOthers) {
    q.load<kOthers, kWidth, kThreads>(query, queries), dout.load<kOthers, kWidth, kThreads>(query, douts);
    begin_group(), wait_groups<0>();
    __syncthreads();
    float score[kN][4] = {}, slope[kN][4] = {};
    const uint16_t* const own = room + warp * 16 * kPitch;
    add_products<H, kWidth>(own, queries, score), add_products<H, kWidth>(own + kTile, douts, slope);
    DY_UNROLL for (int j = 0; j < kN; ++j) DY_UNROLL for (int i = 0; i < 2; ++i) {
      const int64_t row = query + 8 * j + lane % 4 * 2 + i, place = b.head * p.tq + (row < p.tq ? row : 0);
      const float lse = static_cast<const float*>(at.lse)[place] * kLog2, delta = static_cast<const float*>(at.delta)[place];
      DY_UNROLL for (int half = 0; half < 2; ++half)
          finish(p, row < p.tq && p.sees(row, key + 8 * half), lse, delta, score[j][2 * half + i], slope[j][2 * half + i]);
    }
    add_weighted<H, kWidth>(score, douts, dv);
    add_weighted<H, kWidth>(slope, queries, dk);
    __syncthreads();
  }
  wait_groups<0>();
  store_rows<H, kWidth>(p, at.dk, p.dk, b.head, b.first + warp * 16, p.tk, dk, 1, 1);
  store_rows<H, kWidth>(p, at.dv, p.dv, b.head, b.first + warp * 16, p.tk, dv, 1, 1);
}

// Each query's sum of dout * out: kLanes threads with 8 numbers each.
template <class H, int kLanes> __global__ void __launch_bounds__(256) gradient_sums16(AttentionPlan p, AttentionPointers at) {
  const int lane = int(threadIdx.x) % kLanes;
  const int64_t rows = p.batch * p.heads * p.tq, step = int64_t(gridDim.x) * 256 / kLanes;
  for (int64_t first = int64_t(blockIdx.x) * 256 / kLanes; first < rows; first += step) {
    const int64_t i = first + threadIdx.x / kLanes, head = i / p.tq, t = i % p.tq;
    float sum = 0;
    if (i < rows && lane * 8 < p.width) {
      const auto word = [&](const void* from, const HeadSteps& s) {
        const uint16_t* const row = head_of(static_cast<const uint16_t*>(from), s, head / p.heads, head % p.heads) + t * s.t;
        return reinterpret_cast<const Word16*>(row)[lane];
      };
      const Word16 x = word(at.out, p.out), y = word(at.dout, p.dout);
      DY_UNROLL for (int k = 0; k < 4; ++k) {
        sum = fmaf(low16<H>(x.part[k]), low16<H>(y.part[k]), sum);
        sum = fmaf(high16<H>(x.part[k]), high16<H>(y.part[k]), sum);
      }
    }
    sum = warp_all<kLanes>(sum, Plus{});
    if (lane == 0 && i < rows) static_cast<float*>(at.delta)[i] = sum;
  }
}

}  // namespace

bool sum_gradients16(const AttentionPlan& p, const AttentionPointers& at) {
  for (const HeadSteps& s : {p.out, p.dout})
    if ((s.b | s.h | s.t | p.width) % 8) return false;
  if (!is_aligned(at.out) || !is_aligned(at.dout)) return false;
  with_width16(p, [&]<class H, int kWidth>() {
    constexpr int kLanes = kWidth / 8;
    launch(gradient_sums16<H, kLanes>, grid_for(p.batch * p.heads * p.tq * kLanes), p, at);
  });
  return true;
}

void backward16(const AttentionPlan& p, const AttentionPointers& at) {
  if (backward90(p, at)) return;
  with_width16(p, [&]<class H, int kWidth>() {
    constexpr int64_t kNumbers = 2 * (kOwn + kOthers) * kRowPitch<kWidth>;
    launch(query_gradients_mma<H, kWidth>, HeadRows::grid(p, p.tq, kOwn, kNumbers), p, at);
    launch(key_gradients_mma<H, kWidth>, HeadRows::grid(p, p.tk, kOwn, kNumbers), p, at);
  });
}

}  // namespace dyadic::gpu
