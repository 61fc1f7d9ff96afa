// Forward on Hopper: a block has a warp that fetches and two warpgroups of 64 queries each. While a warpgroup's scores of one
// tile of keys become weights, its products with the values of the tile before are under way.
#include "plugins/cuda/attention/attention90.h"

#if __CUDACC__
#include "plugins/cuda/attention/attention16.h"
#include "plugins/cuda/attention/boxes.h"

namespace dyadic::gpu {
namespace {

constexpr int kGroups = 2, kQueries = 64 * kGroups, kKeys = 128, kStages = 2, kThreads = 128 * (kGroups + 1);
constexpr float kLn2 = 0.6931471805599453f;

struct Boxes {
  HeadBoxes q, k, v;
};
template <int kWidth> struct Room {  // offsets from a multiple of 1024 bytes
  static constexpr int kTile = HeadBoxes::kBytes<kKeys, kWidth>;
  static constexpr int q = 0, k = HeadBoxes::kBytes<kQueries, kWidth>, v = k + kStages * kTile, kBytes = v + kStages * kTile;
};
struct Gates {
  Gate queries, keys[kStages], values[kStages], keys_read[kStages], values_read[kStages];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <int kWidth>
__device__ void fetch_tiles(const AttentionPlan& p, const Boxes& from, Gates& gates, uint32_t room, const HeadRows& b,
                            int tiles) {
  using R = Room<kWidth>;
  const int head = int(b.head % p.heads), entry = int(b.head / p.heads);
  expect_bytes(&gates.queries, HeadBoxes::kBytes<kQueries, kWidth>);
  from.q.fetch<kQueries, kWidth>(int(b.first), head, entry, room + R::q, &gates.queries);
  for (int t = 0; t < tiles; ++t) {
    const int stage = t % kStages, turn = t / kStages;
    if (turn) wait(&gates.keys_read[stage], (turn - 1) % 2);
    expect_bytes(&gates.keys[stage], R::kTile);
    from.k.fetch<kKeys, kWidth>(t * kKeys, head, entry, room + R::k + stage * R::kTile, &gates.keys[stage]);
    if (turn) wait(&gates.values_read[stage], (turn - 1) % 2);
    expect_bytes(&gates.values[stage], R::kTile);
    from.v.fetch<kKeys, kWidth>(t * kKeys, head, entry, room + R::v + stage * R::kTile, &gates.values[stage]);
  }
}

// A lane's two rows, 8 apart: their largest scores, the sums of their weights.
struct Rows2 {
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0}, less[2];

  // Scores become weights; less: by what earlier sums shrink.
  template <int kN> __device__ void weigh(float (&score)[kN][4], float scale) {
    DY_UNROLL for (int half = 0; half < 2; ++half) {
      float top = most[half];
      DY_UNROLL for (int j = 0; j < kN; ++j) top = fmaxf(top, fmaxf(score[j][2 * half], score[j][2 * half + 1]));
      top = warp_all<4>(top, [](float a, float b) { return fmaxf(a, b); });
      const float zero = top == -INFINITY ? 0 : top * scale;
      less[half] = most[half] == top ? 1 : power_of_2(fmaf(most[half], scale, -zero));
      most[half] = top;
      float added = 0;
      DY_UNROLL for (int j = 0; j < kN; ++j) DY_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
        score[j][i] = power_of_2(fmaf(score[j][i], scale, -zero));
        added += score[j][i];
      }
      total[half] = fmaf(total[half], less[half], added);
    }
  }
};
template <class H, int kWidth>
__device__ void attend(const AttentionPlan& p, const AttentionPointers& at, Gates& gates, uint32_t room, const HeadRows& b,
                       int tiles) {
  using R = Room<kWidth>;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32 % 4, group = int(threadIdx.x) / 128 - 1;
  const int64_t own = b.first + group * 64 + warp * 16, query = own + lane / 4;
  const uint32_t queries = room + R::q + group * 64 * kBoxPitch;
  const float scale = float(p.scale * 1.4426950408889634);  // weights are powers of 2
  const auto keys = [&](int t) { return room + R::k + t % kStages * R::kTile; };
  const auto values = [&](int t) { return room + R::v + t % kStages * R::kTile; };
  const auto done = [&](Gate& g) {
    if (lane == 0) arrive(&g);
  };
  const auto hide_some = [&](auto& score, int t) {
    const int64_t key = int64_t(t) * kKeys;
    if (key + kKeys <= p.last_key(own + 1)) return;  // all see it whole
    const int seen[] = {int(p.last_key(query + 1) - key), int(p.last_key(query + 9) - key)};
    hide(score, lane % 4 * 2, seen);
  };
  float sum[kWidth / 8][4];
  Rows2 rows;
  if (tiles) {
    float score[kKeys / 8][4];
    uint32_t weight[kKeys / 16][4];
    wait(&gates.queries, 0), wait(&gates.keys[0], 0);
    begin_products();
    multiply_rows<H, kWidth, kQueries, kKeys>(score, queries, keys(0));
    commit_products();
    wait_products<0>();
    done(gates.keys_read[0]);
    hide_some(score, 0);
    rows.weigh(score, scale);
    round_weights<H>(score, weight);
    for (int t = 1; t < tiles; ++t) {
      wait(&gates.keys[t % kStages], t / kStages % 2);
      begin_products();
      multiply_rows<H, kWidth, kQueries, kKeys>(score, queries, keys(t));
      commit_products();
      wait(&gates.values[(t - 1) % kStages], (t - 1) / kStages % 2);
      begin_products();
      multiply_held<H, kKeys>(sum, weight, values(t - 1), t > 1);
      commit_products();
      wait_products<1>();
      done(gates.keys_read[t % kStages]);
      hide_some(score, t);
      rows.weigh(score, scale);
      wait_products<0>();
      done(gates.values_read[(t - 1) % kStages]);
      DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) DY_UNROLL for (int i = 0; i < 4; ++i) sum[d][i] *= rows.less[i / 2];
      round_weights<H>(score, weight);
    }
    wait(&gates.values[(tiles - 1) % kStages], (tiles - 1) / kStages % 2);
    begin_products();
    multiply_held<H, kKeys>(sum, weight, values(tiles - 1), tiles > 1);
    commit_products();
    wait_products<0>();
  } else {
    DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) DY_UNROLL for (int i = 0; i < 4; ++i) sum[d][i] = 0;
  }
  float by[2];
  DY_UNROLL for (int half = 0; half < 2; ++half) {
    const float total = warp_all<4>(rows.total[half], Plus{});
    const bool blind = total == 0;
    const int64_t row = query + 8 * half;
    by[half] = blind ? 0 : 1 / total;
    if (lane % 4 == 0 && row < p.tq)
      static_cast<float*>(at.result_lse)[b.head * p.tq + row] =
          blind ? kLowest<float> : fmaf(rows.most[half], scale * kLn2, log_of(total));
  }
  store_rows<H, kWidth>(p, at.result, p.out, b.head, own, p.tq, sum, by[0], by[1]);
}

#endif

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1)
    attention_groups(const __grid_constant__ AttentionPlan p, const __grid_constant__ AttentionPointers at,
                     const __grid_constant__ Boxes from) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char dy_boxes_[];
  __shared__ Gates gates;
  const uint32_t room = box_room(dy_boxes_);
  HeadRows b(p, p.tq, kQueries);
  if (p.causal) b.first = (p.tq - 1) / kQueries * kQueries - b.first;  // long rows first
  const int64_t last = p.last_key(b.first + kQueries < p.tq ? b.first + kQueries : p.tq);
  const int tiles = int((last + kKeys - 1) / kKeys);
  if (threadIdx.x == 0) {
    open_gate(&gates.queries, 1);
    for (int s = 0; s < kStages; ++s) {
      open_gate(&gates.keys[s], 1), open_gate(&gates.values[s], 1);
      open_gate(&gates.keys_read[s], 4 * kGroups), open_gate(&gates.values_read[s], 4 * kGroups);
    }
    publish_gates();
  }
  __syncthreads();
  with_roles(
      tiles != 0, [&] { fetch_tiles<kWidth>(p, from, gates, room, b, tiles); },
      [&] { attend<H, kWidth>(p, at, gates, room, b, tiles); });
#endif
}

}  // namespace

bool forward90(const AttentionPlan& p, const AttentionPointers& at) {
  if (!is_hopper() || p.parts > 1 || p.tq < kQueries || p.tk < kKeys || !(p.scale > 0) || p.tk > INT32_MAX - kKeys ||
      p.tq > INT32_MAX - kQueries)
    return false;
  Boxes from;
  if (!from.q.set(p, at.q, p.q, p.tq, kQueries) || !from.k.set(p, at.k, p.k, p.tk, kKeys) ||
      !from.v.set(p, at.v, p.v, p.tk, kKeys))
    return false;
  with_width16(p, [&]<class H, int kWidth>() {
    Grid grid = HeadRows::grid(p, p.tq, kQueries, 0);
    grid.threads = kThreads, grid.shared = Room<kWidth>::kBytes + 1024;
    launch(attention_groups<H, kWidth>, grid, p, at, from);
  });
  return true;
}

}  // namespace dyadic::gpu

#else

namespace dyadic::gpu {

bool forward90(const AttentionPlan&, const AttentionPointers&) { return false; }

}  // namespace dyadic::gpu

#endif
