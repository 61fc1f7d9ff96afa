// Attention of any floats, computed in f32 or f64: tiles of 64 x 64 scores, 4 x 4 of a thread. Widths beyond one slice of the
// result are made slice by slice, each from the scores anew.
#include "plugins/cuda/attention/attention.h"

#include <cmath>

#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

constexpr int kTile = 64, kDepth = 16, kPitch = kTile + 4;

template <class T> struct Rows {  // of one head
  const void* at;
  Code code;
  int64_t step, count, width;
  __device__ T get(int64_t t, int64_t d) const { return t < count && d < width ? load_usual<T>(code, at, t * step + d) : T(0); }
};
template <class T>
__device__ Rows<T> rows_of(const AttentionPlan& p, const void* at, const HeadSteps& s, int64_t head, int64_t count) {
  const int64_t first = head / p.heads * s.b + head % p.heads * s.h;
  return {static_cast<const char*>(at) + first * stored_bytes(p.code), p.code, s.t, count, p.width};
}

template <class T, int W> struct Stage {
  T x[kDepth][kPitch], y[kDepth][(W > kTile ? W : kTile) + 4];
  T p[kTile][kPitch];  // [column][row]
};

template <class T, int W> struct Tiles {
  static constexpr int kColumns = W / 16;
  Stage<T, W>& stage;
  const int t = int(threadIdx.x), ty = t / 16 * 4, tx = t % 16 * 4;

  // sum[i][j] += x[first_x + row i] . y[first_y + column j]
  __device__ void add_scores(const Rows<T>& x, int64_t first_x, const Rows<T>& y, int64_t first_y, T (&sum)[4][4]) {
    for (int64_t d = 0; d < x.width; d += kDepth) {
      __syncthreads();
      DY_UNROLL for (int e = 0; e < 4; ++e) {
        const int row = t / kDepth + 16 * e, at = t % kDepth;
        stage.x[at][row] = x.get(first_x + row, d + at), stage.y[at][row] = y.get(first_y + row, d + at);
      }
      __syncthreads();
      DY_UNROLL for (int at = 0; at < kDepth; ++at) DY_UNROLL for (int i = 0; i < 4; ++i) DY_UNROLL for (int j = 0; j < 4; ++j)
          sum[i][j] = multiply_add(stage.x[at][ty + i], stage.y[at][tx + j], sum[i][j]);
    }
  }
  // What a thread found of its squares, for all: after it has been read before.
  __device__ void keep(const T (&value)[4][4]) {
    DY_UNROLL for (int i = 0; i < 4; ++i) DY_UNROLL for (int j = 0; j < 4; ++j) stage.p[tx + j][ty + i] = value[i][j];
  }
  __device__ int column(int j) const { return tx + j % 4 + j / 4 * 64; }
  // sum[i][j] += over the tile's columns c: kept[c][row i] v[first + c][slice + column j]
  __device__ void add_rows(const Rows<T>& v, int64_t first, int64_t slice, T (&sum)[4][kColumns]) {
    for (int c = 0; c < kTile; c += kDepth) {
      __syncthreads();
      DY_UNROLL for (int e = 0; e < kColumns; ++e) {
        const int at = t % W, row = t / W + e * (256 / W);
        stage.y[row][at] = v.get(first + c + row, slice + at);
      }
      __syncthreads();
      DY_UNROLL for (int row = 0; row < kDepth; ++row) DY_UNROLL for (int i = 0; i < 4; ++i)
          DY_UNROLL for (int j = 0; j < kColumns; ++j) sum[i][j] =
              multiply_add(stage.p[c + row][ty + i], stage.y[row][column(j)], sum[i][j]);
    }
  }
  __device__ void store(const AttentionPlan& p, void* at, const HeadSteps& s, int64_t head, int64_t count, int64_t first,
                        int64_t slice, const T (&sum)[4][kColumns]) const {
    const int64_t from = head / p.heads * s.b + head % p.heads * s.h;
    DY_UNROLL for (int i = 0; i < 4; ++i) DY_UNROLL for (int j = 0; j < kColumns; ++j) {
      const int64_t row = first + ty + i, d = slice + column(j);
      if (row < count && d < p.width) store_usual<T>(p.result_code, at, from + row * s.t + d, sum[i][j]);
    }
  }
};

struct HeadTile {  // of a block
  int64_t slice, first, head;
  static DY_DEVICE int64_t slices_of(const AttentionPlan& p, int width) { return p.width ? (p.width + width - 1) / width : 1; }
  __device__ HeadTile(const AttentionPlan& p, int64_t count, int width) {
    const int64_t slices = slices_of(p, width), tiles = (count + kTile - 1) / kTile, number = blockIdx.x;
    slice = number % slices * width, first = number / slices % tiles * kTile, head = number / slices / tiles;
  }
  static Grid grid(const AttentionPlan& p, int64_t count, int width, int64_t shared) {
    const int64_t slices = slices_of(p, width), tiles = (count + kTile - 1) / kTile;
    return {.blocks = slices * tiles * p.batch * p.heads, .threads = 256, .shared = shared};
  }
};

template <class T, int W> __global__ void __launch_bounds__(256, 1) attention_rows(AttentionPlan p, AttentionPointers at) {
  using Room = Stage<T, W>;
  DY_DYNAMIC_SHARED(Room, room);
  Tiles<T, W> tiles{*room};
  const HeadTile b(p, p.tq, W);
  const Rows<T> q = rows_of<T>(p, at.q, p.q, b.head, p.tq), k = rows_of<T>(p, at.k, p.k, b.head, p.tk),
                v = rows_of<T>(p, at.v, p.v, b.head, p.tk);
  T most[4], total[4], sum[4][W / 16];
  DY_UNROLL for (int i = 0; i < 4; ++i) {
    most[i] = kLowest<T>, total[i] = 0;
    DY_UNROLL for (int j = 0; j < W / 16; ++j) sum[i][j] = 0;
  }
  for (int64_t key = 0; key < p.last_key(b.first + kTile); key += kTile) {
    T score[4][4] = {};
    tiles.add_scores(q, b.first, k, key, score);
    DY_UNROLL for (int i = 0; i < 4; ++i) {
      const int64_t query = b.first + tiles.ty + i;
      T top = most[i], added = 0;
      DY_UNROLL for (int j = 0; j < 4; ++j) {
        score[i][j] *= T(p.scale);
        if (p.sees(query, key + tiles.tx + j)) top = Larger{}(top, score[i][j]);
      }
      top = warp_all<16>(top, Larger{});
      const T less = most[i] == top ? T(1) : exp_of(most[i] - top);
      DY_UNROLL for (int j = 0; j < 4; ++j) {
        score[i][j] = p.sees(query, key + tiles.tx + j) ? exp_of(score[i][j] - top) : T(0);
        added += score[i][j];
      }
      total[i] = multiply_add(total[i], less, warp_all<16>(added, Plus{}));
      most[i] = top;
      DY_UNROLL for (int j = 0; j < W / 16; ++j) sum[i][j] *= less;
    }
    tiles.keep(score);
    tiles.add_rows(v, key, b.slice, sum);
  }
  DY_UNROLL for (int i = 0; i < 4; ++i) {
    const int64_t query = b.first + tiles.ty + i;
    const bool blind = total[i] == 0;  // it sees no key
    DY_UNROLL for (int j = 0; j < W / 16; ++j) sum[i][j] = blind ? T(0) : sum[i][j] / total[i];
    if (b.slice == 0 && tiles.tx == 0 && query < p.tq)
      static_cast<T*>(at.result_lse)[b.head * p.tq + query] = blind ? kLowest<T> : most[i] + log_of(total[i]);
  }
  tiles.store(p, at.result, p.out, b.head, p.tq, b.first, b.slice, sum);
}

// Of each query; a warp each.
template <class T> __global__ void __launch_bounds__(256, 1) gradient_sums(AttentionPlan p, AttentionPointers at) {
  const int lane = int(threadIdx.x) % kWarp;
  for (int64_t i = int64_t(blockIdx.x) * 8 + threadIdx.x / kWarp; i < p.batch * p.heads * p.tq; i += int64_t(gridDim.x) * 8) {
    const Rows<T> out = rows_of<T>(p, at.out, p.out, i / p.tq, p.tq), dout = rows_of<T>(p, at.dout, p.dout, i / p.tq, p.tq);
    T sum = 0;
    for (int64_t d = lane; d < p.width; d += kWarp) sum = multiply_add(out.get(i % p.tq, d), dout.get(i % p.tq, d), sum);
    sum = warp_all<kWarp>(sum, Plus{});
    if (lane == 0) static_cast<T*>(at.delta)[i] = sum;
  }
}

// Probabilities and gradients of scores, of a square of queries and keys whose scores and whose dout . v are in `score`,
// `slope`.
template <class T>
__device__ void finish_scores(const AttentionPlan& p, const AttentionPointers& at, int64_t head, int64_t query, int64_t key,
                              T& score, T& slope) {
  const bool sees = query < p.tq && p.sees(query, key);
  const int64_t i = head * p.tq + (query < p.tq ? query : 0);
  score = sees ? exp_of(multiply_add(score, T(p.scale), -static_cast<const T*>(at.lse)[i])) : T(0);
  slope = sees ? score * (slope - static_cast<const T*>(at.delta)[i]) * T(p.scale) : T(0);
}

template <class T, int W> __global__ void __launch_bounds__(256, 1) query_gradients(AttentionPlan p, AttentionPointers at) {
  using Room = Stage<T, W>;
  DY_DYNAMIC_SHARED(Room, room);
  Tiles<T, W> tiles{*room};
  const HeadTile b(p, p.tq, W);
  const Rows<T> q = rows_of<T>(p, at.q, p.q, b.head, p.tq), k = rows_of<T>(p, at.k, p.k, b.head, p.tk),
                v = rows_of<T>(p, at.v, p.v, b.head, p.tk), dout = rows_of<T>(p, at.dout, p.dout, b.head, p.tq);
  T sum[4][W / 16] = {};
  for (int64_t key = 0; key < p.last_key(b.first + kTile); key += kTile) {
    T score[4][4] = {}, slope[4][4] = {};
    tiles.add_scores(q, b.first, k, key, score);
    tiles.add_scores(dout, b.first, v, key, slope);
    DY_UNROLL for (int i = 0; i < 4; ++i) DY_UNROLL for (int j = 0; j < 4; ++j)
        finish_scores(p, at, b.head, b.first + tiles.ty + i, key + tiles.tx + j, score[i][j], slope[i][j]);
    tiles.keep(slope);
    tiles.add_rows(k, key, b.slice, sum);
  }
  tiles.store(p, at.dq, p.dq, b.head, p.tq, b.first, b.slice, sum);
}

template <class T, int W> __global__ void __launch_bounds__(256, 1) key_gradients(AttentionPlan p, AttentionPointers at) {
  using Room = Stage<T, W>;
  DY_DYNAMIC_SHARED(Room, room);
  Tiles<T, W> tiles{*room};
  const HeadTile b(p, p.tk, W);
  const Rows<T> q = rows_of<T>(p, at.q, p.q, b.head, p.tq), k = rows_of<T>(p, at.k, p.k, b.head, p.tk),
                v = rows_of<T>(p, at.v, p.v, b.head, p.tk), dout = rows_of<T>(p, at.dout, p.dout, b.head, p.tq);
  T dk[4][W / 16] = {}, dv[4][W / 16] = {};
  for (int64_t query = p.first_query(b.first) / kTile * kTile; query < p.tq; query += kTile) {
    T score[4][4] = {}, slope[4][4] = {};
    tiles.add_scores(k, b.first, q, query, score);
    tiles.add_scores(v, b.first, dout, query, slope);
    DY_UNROLL for (int i = 0; i < 4; ++i) DY_UNROLL for (int j = 0; j < 4; ++j)
        finish_scores(p, at, b.head, query + tiles.tx + j, b.first + tiles.ty + i, score[i][j], slope[i][j]);
    tiles.keep(score);
    tiles.add_rows(dout, query, b.slice, dv);
    __syncthreads();
    tiles.keep(slope);
    tiles.add_rows(q, query, b.slice, dk);
  }
  tiles.store(p, at.dk, p.dk, b.head, p.tk, b.first, b.slice, dk);
  tiles.store(p, at.dv, p.dv, b.head, p.tk, b.first, b.slice, dv);
}

template <class T, int W> void run_forward(const AttentionPlan& p, const AttentionPointers& at) {
  launch(attention_rows<T, W>, HeadTile::grid(p, p.tq, W, sizeof(Stage<T, W>)), p, at);
}
template <class T> void run_backward(const AttentionPlan& p, const AttentionPointers& at) {
  const int64_t shared = sizeof(Stage<T, 64>);
  launch(gradient_sums<T>, grid_for(p.batch * p.heads * p.tq * kWarp), p, at);
  launch(query_gradients<T, 64>, HeadTile::grid(p, p.tq, 64, shared), p, at);
  launch(key_gradients<T, 64>, HeadTile::grid(p, p.tk, 64, shared), p, at);
}

bool on_tensor_cores(const AttentionPlan& p) {
  return (p.code == Code::bf16 || p.code == Code::f16) && p.result_code == p.code && p.width <= kMaxWidth16;
}
void forward(const AttentionPlan& p, const AttentionPointers& at) {
  if (on_tensor_cores(p)) return forward16(p, at);
  if (p.code == Code::f64) return run_forward<double, 64>(p, at);
  p.width <= 64 ? run_forward<float, 64>(p, at) : run_forward<float, 128>(p, at);
}
void backward(const AttentionPlan& p, AttentionPointers at) {
  if (p.width == 0) return;
  if (on_tensor_cores(p)) {
    if (!sum_gradients16(p, at)) launch(gradient_sums<float>, grid_for(p.batch * p.heads * p.tq * kWarp), p, at);
    return backward16(p, at);
  }
  p.code == Code::f64 ? run_backward<double>(p, at) : run_backward<float>(p, at);
}

// Of [B, H, T, D], and of a part of [B, T, 3, H, D] or of [B, T, H, D].
HeadSteps steps_of(const Operand& o) { return {o.steps[0], o.steps[1], o.steps[2]}; }
HeadSteps packed_steps(const Operand& o) { return {o.steps[0], o.steps[o.ndim - 2], o.steps[1]}; }
AttentionPlan plan_of(const Operand& q, const Operand& k, bool causal, double scale, const Operand& result) {
  AttentionPlan p{};
  p.batch = q.lengths[0], p.heads = q.lengths[1], p.tq = q.lengths[2], p.tk = k.lengths[2], p.width = q.lengths[3];
  p.causal = causal, p.scale = scale, p.code = code_of(q.format), p.result_code = code_of(result.format);
  return p;
}
AttentionPlan packed_plan(const Operand& qkv, bool causal, const Operand& result) {
  AttentionPlan p{};
  p.batch = qkv.lengths[0], p.tq = p.tk = qkv.lengths[1], p.heads = qkv.lengths[3], p.width = qkv.lengths[4];
  p.causal = causal, p.scale = float(1 / std::sqrt(double(p.width)));
  p.code = code_of(qkv.format), p.result_code = code_of(result.format);
  p.q = p.k = p.v = packed_steps(qkv);
  return p;
}
int64_t delta_bytes(const AttentionPlan& p) { return p.batch * p.heads * p.tq * (p.code == Code::f64 ? 8 : 4); }

void run_attention(const AttentionPlan& p, const Pointers& at) {
  forward(p,
          {.q = at.in[0], .k = at.in[1], .v = at.in[2], .result = at.out[0], .result_lse = at.out[1], .partial = at.workspace});
}
void plan_attention(Call& c) {
  namespace arg = ops::attention_forward_op::arg;
  AttentionPlan& p = c.plan.make<run_attention, AttentionPlan>();
  const Operand q = c.operand(arg::query), k = c.operand(arg::key), v = c.operand(arg::value), out = c.result();
  p = plan_of(q, k, c[arg::is_causal], c[arg::scale], out);
  p.q = steps_of(q), p.k = steps_of(k), p.v = steps_of(v), p.out = steps_of(out);
  if (on_tensor_cores(p)) c.plan.workspace = plan_forward16(p);
}
const Registered attention_forward{"attention_forward", {.plan = plan_attention}};

void run_attention_backward(const AttentionPlan& p, const Pointers& at) {
  backward(p, {.q = at.in[1],
               .k = at.in[2],
               .v = at.in[3],
               .out = at.in[4],
               .dout = at.in[0],
               .lse = at.in[5],
               .dq = at.out[0],
               .dk = at.out[1],
               .dv = at.out[2],
               .delta = at.workspace});
}
void plan_attention_backward(Call& c) {
  namespace arg = ops::attention_backward_op::arg;
  AttentionPlan& p = c.plan.make<run_attention_backward, AttentionPlan>();
  const Operand q = c.operand(arg::query), k = c.operand(arg::key);
  p = plan_of(q, k, c[arg::is_causal], float(c[arg::scale]), c.result());
  p.q = steps_of(q), p.k = steps_of(k), p.v = steps_of(c.operand(arg::value));
  p.out = steps_of(c.operand(arg::out)), p.dout = steps_of(c.operand(arg::grad));
  p.dq = steps_of(c.result(0)), p.dk = steps_of(c.result(1)), p.dv = steps_of(c.result(2));
  c.plan.workspace = delta_bytes(p);
}
const Registered attention_backward{"attention_backward", {.plan = plan_attention_backward, .dense = true}};

struct PackedPlan : AttentionPlan {
  int64_t part = 0, result_part = 0;  // bytes from the queries to the keys, and from them to the values
};
const void* part_of(const void* at, int64_t bytes) { return static_cast<const char*>(at) + bytes; }
void* part_of(void* at, int64_t bytes) { return static_cast<char*>(at) + bytes; }

void run_packed(const PackedPlan& p, const Pointers& at) {
  const void* const qkv = at.in[0];
  forward(p, {.q = qkv,
              .k = part_of(qkv, p.part),
              .v = part_of(qkv, 2 * p.part),
              .result = at.out[0],
              .result_lse = at.out[1],
              .partial = at.workspace});
}
void plan_packed(Call& c) {
  namespace arg = ops::packed_attention_forward_op::arg;
  PackedPlan& p = c.plan.make<run_packed, PackedPlan>();
  const Operand qkv = c.operand(arg::qkv), out = c.result();
  p = PackedPlan{packed_plan(qkv, c[arg::is_causal], out)};
  p.out = packed_steps(out), p.part = qkv.steps[2] * qkv.itemsize();
  if (on_tensor_cores(p)) c.plan.workspace = plan_forward16(p);
}
const Registered packed_forward{"packed_attention_forward", {.plan = plan_packed, .dense = true}};

void run_packed_backward(const PackedPlan& p, const Pointers& at) {
  const void* const qkv = at.in[1];
  void* const d = at.out[0];
  backward(p, {.q = qkv,
               .k = part_of(qkv, p.part),
               .v = part_of(qkv, 2 * p.part),
               .out = at.in[2],
               .dout = at.in[0],
               .lse = at.in[3],
               .dq = d,
               .dk = part_of(d, p.result_part),
               .dv = part_of(d, 2 * p.result_part),
               .delta = at.workspace});
}
void plan_packed_backward(Call& c) {
  namespace arg = ops::packed_attention_backward_op::arg;
  PackedPlan& p = c.plan.make<run_packed_backward, PackedPlan>();
  const Operand qkv = c.operand(arg::qkv), result = c.result();
  p = PackedPlan{packed_plan(qkv, c[arg::is_causal], result)};
  p.out = packed_steps(c.operand(arg::out)), p.dout = packed_steps(c.operand(arg::grad));
  p.dq = p.dk = p.dv = packed_steps(result);
  p.part = qkv.steps[2] * qkv.itemsize(), p.result_part = result.steps[2] * result.itemsize();
  c.plan.workspace = delta_bytes(p);
}
const Registered packed_backward{"packed_attention_backward", {.plan = plan_packed_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
