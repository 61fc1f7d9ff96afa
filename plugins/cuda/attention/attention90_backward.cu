// Gradients on Hopper, by a kernel for the queries and one for keys and values: a block has a warp that fetches and two
// warpgroups of 64 rows of their own each. Scores and their gradients come for a tile of the other side; while they become
// weights, products with the tile before are under way.
#include "plugins/cuda/attention/attention90.h"

#if __CUDACC__
#include <algorithm>

#include "plugins/cuda/attention/attention16.h"
#include "plugins/cuda/attention/boxes.h"

namespace dyadic::gpu {
namespace {

constexpr int kGroups = 2, kOwn = 64 * kGroups, kOthers = 64, kStages = 2, kThreads = 128 * (kGroups + 1);
constexpr float kLog2 = 1.4426950408889634f;

struct Boxes {
  HeadBoxes x, y;           // a block's own rows: queries and dout, or keys and values
  HeadBoxes other, other2;  // keys and values, or queries and dout
};
template <int kWidth> struct Room {  // offsets from a multiple of 1024 bytes
  static constexpr int kOwnTile = HeadBoxes::kBytes<kOwn, kWidth>, kTile = HeadBoxes::kBytes<kOthers, kWidth>;
  static constexpr int x = 0, y = kOwnTile, other = 2 * kOwnTile, other2 = other + kStages * kTile,
                       kBytes = other2 + kStages * kTile;
};
struct Gates {
  Gate own, come[kStages], read[kStages];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <int kWidth>
__device__ void fetch_tiles(const AttentionPlan& p, const Boxes& from, Gates& gates, uint32_t room, const HeadRows& b, int row,
                            int tiles) {
  using R = Room<kWidth>;
  const int head = int(b.head % p.heads), entry = int(b.head / p.heads);
  expect_bytes(&gates.own, 2 * R::kOwnTile);
  from.x.fetch<kOwn, kWidth>(int(b.first), head, entry, room + R::x, &gates.own);
  from.y.fetch<kOwn, kWidth>(int(b.first), head, entry, room + R::y, &gates.own);
  for (int t = 0; t < tiles; ++t, row += kOthers) {
    const int stage = t % kStages, turn = t / kStages;
    if (turn) wait(&gates.read[stage], (turn - 1) % 2);
    expect_bytes(&gates.come[stage], 2 * R::kTile);
    from.other.fetch<kOthers, kWidth>(row, head, entry, room + R::other + stage * R::kTile, &gates.come[stage]);
    from.other2.fetch<kOthers, kWidth>(row, head, entry, room + R::other2 + stage * R::kTile, &gates.come[stage]);
  }
}

__device__ inline void prepare(Gates& gates) {
  if (threadIdx.x == 0) {
    open_gate(&gates.own, 1);
    for (int s = 0; s < kStages; ++s) open_gate(&gates.come[s], 1), open_gate(&gates.read[s], 4 * kGroups);
    publish_gates();
  }
  __syncthreads();
}

// What a thread of a warpgroup is, and the tiles that it works on.
template <int kWidth> struct Place {
  using R = Room<kWidth>;
  int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32 % 4, group = int(threadIdx.x) / 128 - 1;
  uint32_t room;
  int64_t own;  // the warp's first row
  __device__ Place(uint32_t room, const HeadRows& b) : room(room), own(b.first + group * 64 + warp * 16) {}
  __device__ uint32_t x() const { return room + R::x + group * 64 * kBoxPitch; }
  __device__ uint32_t y() const { return room + R::y + group * 64 * kBoxPitch; }
  __device__ uint32_t other(int t) const { return room + R::other + t % kStages * R::kTile; }
  __device__ uint32_t other2(int t) const { return room + R::other2 + t % kStages * R::kTile; }
};

template <class H, int kWidth>
__device__ void make_query_gradients(const AttentionPlan& p, const AttentionPointers& at, Gates& gates, uint32_t room,
                                     const HeadRows& b, int tiles) {
  const Place<kWidth> me(room, b);
  const int64_t query = me.own + me.lane / 4;
  const float scale = float(p.scale * 1.4426950408889634);
  float lse[2], delta[2];
  DY_UNROLL for (int half = 0; half < 2; ++half) {
    const int64_t row = query + 8 * half, place = b.head * p.tq + (row < p.tq ? row : 0);
    const float natural = static_cast<const float*>(at.lse)[place];
    lse[half] = natural == kLowest<float> ? 0 : natural * kLog2;  // of one that sees no key
    delta[half] = static_cast<const float*>(at.delta)[place];
  }
  float sum[kWidth / 8][4], score[kOthers / 8][4], slope[kOthers / 8][4];
  uint32_t weight[kOthers / 16][4];
  if (tiles) wait(&gates.own, 0);
  for (int t = 0; t < tiles; ++t) {
    wait(&gates.come[t % kStages], t / kStages % 2);
    begin_products();
    multiply_rows<H, kWidth, kOwn, kOthers>(score, me.x(), me.other(t));
    multiply_rows<H, kWidth, kOwn, kOthers>(slope, me.y(), me.other2(t));
    commit_products();
    wait_products<0>();
    if (t && me.lane == 0) arrive(&gates.read[(t - 1) % kStages]);
    const int64_t key = int64_t(t) * kOthers;
    if (key + kOthers > p.last_key(me.own + 1)) {
      const int seen[] = {int(p.last_key(query + 1) - key), int(p.last_key(query + 9) - key)};
      hide(score, me.lane % 4 * 2, seen);
    }
    DY_UNROLL for (int j = 0; j < kOthers / 8; ++j) DY_UNROLL for (int i = 0; i < 4; ++i) slope[j][i] =
        power_of_2(fmaf(score[j][i], scale, -lse[i / 2])) * (slope[j][i] - delta[i / 2]);
    round_weights<H>(slope, weight);
    begin_products();
    multiply_held<H, kOthers>(sum, weight, me.other(t), t > 0);
    commit_products();
  }
  wait_products<0>();
  if (!tiles) DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) DY_UNROLL for (int i = 0; i < 4; ++i) sum[d][i] = 0;
  store_rows<H, kWidth>(p, at.dq, p.dq, b.head, me.own, p.tq, sum, float(p.scale), float(p.scale));
}

template <class H, int kWidth>
__device__ void make_key_gradients(const AttentionPlan& p, const AttentionPointers& at, Gates& gates,
                                   float (&known)[2][2][kOthers], uint32_t room, const HeadRows& b, int64_t first, int tiles) {
  const Place<kWidth> me(room, b);
  // A key is seen by queries that come at least so far behind the first one.
  const int behind = int(me.own - first - (p.tk - p.tq));
  const float scale = float(p.scale * 1.4426950408889634);
  // Of each query: the first half of the threads brings lse, the other one delta. Weights of those that see no key are 0.
  const int mine = int(threadIdx.x) % 128, of = mine / kOthers;
  const float* const source = static_cast<const float*>(of ? at.delta : at.lse) + b.head * p.tq + first;
  const int left = int(p.tq - first);
  const auto bring = [&](int t) -> float {
    const int row = t * kOthers + mine % kOthers;
    if (of) return row < left ? source[row] : 0;
    const float natural = row < left ? source[row] : kLowest<float>;
    return natural == kLowest<float> ? INFINITY : natural * kLog2;
  };
  float dk[kWidth / 8][4], dv[kWidth / 8][4], score[kOthers / 8][4], slope[kOthers / 8][4];
  uint32_t weight[kOthers / 16][4], change[kOthers / 16][4];
  float next = tiles ? bring(0) : 0;
  if (tiles) wait(&gates.own, 0);
  for (int t = 0; t < tiles; ++t) {
    float(&now)[2][kOthers] = known[t % 2];
    now[of][mine % kOthers] = next;
    if (t + 1 < tiles) next = bring(t + 1);
    wait(&gates.come[t % kStages], t / kStages % 2);
    begin_products();
    multiply_rows<H, kWidth, kOwn, kOthers>(score, me.x(), me.other(t));
    multiply_rows<H, kWidth, kOwn, kOthers>(slope, me.y(), me.other2(t));
    commit_products();
    asm volatile("bar.sync %0, 128;" ::"r"(me.group + 1) : "memory");
    wait_products<0>();
    if (t && me.lane == 0) arrive(&gates.read[(t - 1) % kStages]);
    const bool open = !p.causal || behind + 15 <= t * kOthers;  // all see all keys of the warp
    DY_UNROLL for (int j = 0; j < kOthers / 8; ++j) {
      const int column = 8 * j + me.lane % 4 * 2;
      DY_UNROLL for (int i = 0; i < 4; ++i) {
        const float lse = now[0][column + i % 2], delta = now[1][column + i % 2];
        float w = power_of_2(fmaf(score[j][i], scale, -lse));
        if (!open && behind + me.lane / 4 + i / 2 * 8 > t * kOthers + column + i % 2) w = 0;
        score[j][i] = w, slope[j][i] = w * (slope[j][i] - delta);
      }
    }
    round_weights<H>(score, weight), round_weights<H>(slope, change);
    begin_products();
    multiply_held<H, kOthers>(dv, weight, me.other2(t), t > 0);
    multiply_held<H, kOthers>(dk, change, me.other(t), t > 0);
    commit_products();
    if (kWidth > 64) wait_products<0>();  // registers for the next tile's scores; the other warpgroup goes on
  }
  wait_products<0>();
  if (!tiles) DY_UNROLL for (int d = 0; d < kWidth / 8; ++d) DY_UNROLL for (int i = 0; i < 4; ++i) dk[d][i] = dv[d][i] = 0;
  store_rows<H, kWidth>(p, at.dk, p.dk, b.head, me.own, p.tk, dk, float(p.scale), float(p.scale));
  store_rows<H, kWidth>(p, at.dv, p.dv, b.head, me.own, p.tk, dv, 1, 1);
}

#endif

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1)
    query_gradients_groups(const __grid_constant__ AttentionPlan p, const __grid_constant__ AttentionPointers at,
                           const __grid_constant__ Boxes from) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char dy_boxes_[];
  __shared__ Gates gates;
  const uint32_t room = box_room(dy_boxes_);
  HeadRows b(p, p.tq, kOwn);
  if (p.causal) b.first = (p.tq - 1) / kOwn * kOwn - b.first;  // long rows first
  const int64_t last = p.last_key(b.first + kOwn < p.tq ? b.first + kOwn : p.tq);
  const int tiles = int((last + kOthers - 1) / kOthers);
  prepare(gates);
  with_roles(
      tiles != 0, [&] { fetch_tiles<kWidth>(p, from, gates, room, b, 0, tiles); },
      [&] { make_query_gradients<H, kWidth>(p, at, gates, room, b, tiles); });
#endif
}

template <class H, int kWidth>
__global__ void __launch_bounds__(kThreads, 1)
    key_gradients_groups(const __grid_constant__ AttentionPlan p, const __grid_constant__ AttentionPointers at,
                         const __grid_constant__ Boxes from) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char dy_boxes_[];
  __shared__ Gates gates;
  __shared__ float known[kGroups][2][2][kOthers];  // of each query: lse and delta
  const uint32_t room = box_room(dy_boxes_);
  const HeadRows b(p, p.tk, kOwn);
  const int64_t first = p.first_query(b.first) / kOthers * kOthers;
  const int tiles = first < p.tq ? int((p.tq - first + kOthers - 1) / kOthers) : 0;
  prepare(gates);
  with_roles(
      tiles != 0, [&] { fetch_tiles<kWidth>(p, from, gates, room, b, int(first), tiles); },
      [&] { make_key_gradients<H, kWidth>(p, at, gates, known[threadIdx.x / 128 - 1], room, b, first, tiles); });
#endif
}

}  // namespace

bool backward90(const AttentionPlan& p, const AttentionPointers& at) {
  if (!is_hopper() || p.tq < kOthers || p.tk < kOthers || std::max(p.tq, p.tk) > INT32_MAX / 2) return false;
  Boxes of_queries, of_keys;
  const auto set = [&](HeadBoxes& own, HeadBoxes& other, const void* data, const HeadSteps& s, int64_t rows) {
    return own.set(p, data, s, rows, kOwn) && other.set(p, data, s, rows, kOthers);
  };
  if (!set(of_queries.x, of_keys.other, at.q, p.q, p.tq) || !set(of_queries.y, of_keys.other2, at.dout, p.dout, p.tq) ||
      !set(of_keys.x, of_queries.other, at.k, p.k, p.tk) || !set(of_keys.y, of_queries.other2, at.v, p.v, p.tk))
    return false;
  with_width16(p, [&]<class H, int kWidth>() {
    const auto grid = [&](int64_t rows) {
      Grid g = HeadRows::grid(p, rows, kOwn, 0);
      g.threads = kThreads, g.shared = Room<kWidth>::kBytes + 1024;
      return g;
    };
    launch(query_gradients_groups<H, kWidth>, grid(p.tq), p, at, of_queries);
    launch(key_gradients_groups<H, kWidth>, grid(p.tk), p, at, of_keys);
  });
  return true;
}

}  // namespace dyadic::gpu

#else

namespace dyadic::gpu {

bool backward90(const AttentionPlan&, const AttentionPointers&) { return false; }

}  // namespace dyadic::gpu

#endif
