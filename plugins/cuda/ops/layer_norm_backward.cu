// Gradients of layer and RMS normalization: a row of both is held and, from row to row, the sums of the parameters' gradients;
// what each group of threads has is added in order afterwards.
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/norm.h"

namespace dyadic::gpu {
namespace {

// With g = dy weight and h = (x - mean) rstd: dx = rstd (g - mean(g) - h mean(g h)), dweight += dy h, dbias += dy. Without
// centring mean(g) falls away. `dx`, and the sums [groups, n], may be null.
template <class E, int kPer, int kThreads, bool kExact>
constexpr int kBackwardBlocks = resident_blocks(
    kThreads, kPer* kChunk* int(5 * sizeof(typename E::Value) + 2 * sizeof(typename E::Stored)) / 4 + (kExact ? 32 : 50));
template <class E, int kGroup, int kPer, int kThreads, bool kExact>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks<E, kPer, kThreads, kExact>)
    held_rows_backward(const void* dy, const void* x, const void* weight, const void* means, const void* rstds, void* dx,
                       void* dweight, void* dbias, int64_t groups, NormRows p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, kPer, kExact>;
  __shared__ Rooms<kGroup, Pair<T>> rooms;
  constexpr bool kAhead = kExact && kPer == 1;
  const int t = int(threadIdx.x) % kGroup;
  const int64_t group = int64_t(blockIdx.x) * (kThreads / kGroup) + threadIdx.x / kGroup;
  const bool aligned = false;  // unless they are exact
  int turn = 0;
  auto span_of = [&](int64_t r) {
    Span span = Row::span(r * p.n, 0);
    span.n = group < groups && r < p.rows ? int(p.n) : 0, span.off = 0;  // a thread has the same columns of all rows
    return span;
  };
  Row w, own_dweight, own_dbias, grad, hat;
  own_dweight.each([](T& v) { v = 0; });
  own_dbias.each([](T& v) { v = 0; });
  w.each([](T& v) { v = 1; });
  Span parameters = Row::span(0, p.n);
  DY_UNROLL
  for (int k = 0; k < Row::kChunks; ++k)
    if (weight) load_parameter<Row, E>(weight, p.own_weight, p, parameters, 0, t, k, w.v[k]);
  typename Row::template Coming<> grad_coming, hat_coming;
  T next_mean, next_rstd;
  auto come = [&](int64_t r) {
    const Span span = span_of(r);
    next_mean = span.n ? static_cast<const T*>(means)[r] : T(0), next_rstd = span.n ? static_cast<const T*>(rstds)[r] : T(0);
    grad_coming.load(dy, span, t, aligned, T(0));
    hat_coming.load(x, span, t, aligned, T(0));
  };
  if (kAhead) come(group);
  DY_UNROLL_BY(1)
  for (int64_t first = 0; first < p.rows; first += groups) {  // all threads of a block go on as long as one does
    const Span span = span_of(first + group);
    if (!kAhead) come(first + group);
    const T mean = next_mean, rstd = next_rstd;
    grad.take(grad_coming), hat.take(hat_coming);
    hat.set_rest(span, t, mean);  // beyond the row both are 0 in the end
    if (kAhead && first + groups < p.rows) come(first + groups + group);
    Pair<T> sums{};
    DY_UNROLL
    for (int k = 0; k < Row::kChunks; ++k) {
      DY_UNROLL
      for (int j = 0; j < Row::kEach; ++j) {
        hat.v[k][j] = (hat.v[k][j] - mean) * rstd;
        own_dweight.v[k][j] += grad.v[k][j] * hat.v[k][j];
        own_dbias.v[k][j] += grad.v[k][j];
        grad.v[k][j] *= w.v[k][j];
        sums.a += grad.v[k][j];
        sums.b += grad.v[k][j] * hat.v[k][j];
      }
    }
    sums = group_all<kGroup>(sums, rooms, turn, PlusBoth());
    const T mean_g = p.centred ? sums.a / T(p.n) : T(0), mean_gh = sums.b / T(p.n);
    DY_UNROLL
    for (int k = 0; k < Row::kChunks; ++k) {
      DY_UNROLL
      for (int j = 0; j < Row::kEach; ++j) grad.v[k][j] = rstd * (grad.v[k][j] - mean_g - hat.v[k][j] * mean_gh);
    }
    if (dx) grad.store(dx, span, t, aligned);
  }
  if (group >= groups) return;
  DY_UNROLL
  for (int k = 0; k < Row::kChunks; ++k) {
    DY_UNROLL
    for (int j = 0; j < Row::kEach; ++j) {
      const int64_t i = Row::number(parameters, t, k, j);
      if (i >= p.n) continue;
      if (dweight) static_cast<T*>(dweight)[group * p.n + i] = own_dweight.v[k][j];
      if (dbias) static_cast<T*>(dbias)[group * p.n + i] = own_dbias.v[k][j];
    }
  }
}

template <class E>
__global__ void __launch_bounds__(kLongThreads) long_rows_backward(const void* dy, const void* x, const void* weight,
                                                                   const void* means, const void* rstds, void* dx, NormRows p) {
  using T = typename E::Value;
  using Row = WideRow<E, kLongThreads, 1>;
  __shared__ Pair<double> room[kGroupRoom<kLongThreads>];
  const int t = int(threadIdx.x);
  for (int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
    const T mean = static_cast<const T*>(means)[r], rstd = static_cast<const T*>(rstds)[r];
    Row grad, hat;
    auto load = [&](const Span& span) {
      grad.load(dy, span, t, p.aligned, T(0));
      hat.load(x, span, t, p.aligned, mean);
      hat.each([&](T& v) { v = (v - mean) * rstd; });
      if (!weight) return;
      DY_UNROLL
      for (int k = 0; k < Row::kChunks; ++k) {
        T w[Row::kEach];
        load_parameter<Row, E>(weight, p.own_weight, p, span, r, t, k, w);
        DY_UNROLL
        for (int j = 0; j < Row::kEach; ++j) grad.v[k][j] *= w[j];
      }
    };
    Pair<double> sums{};
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      load(span);
      sums.a += double(Row::fold([&](int k, int j) { return grad.v[k][j]; }, Plus()));
      sums.b += double(Row::fold([&](int k, int j) { return grad.v[k][j] * hat.v[k][j]; }, Plus()));
    });
    sums = group_all<kLongThreads>(sums, room, PlusBoth());
    const T mean_g = p.centred ? T(sums.a / double(p.n)) : T(0), mean_gh = T(sums.b / double(p.n));
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      load(span);
      DY_UNROLL
      for (int k = 0; k < Row::kChunks; ++k) {
        DY_UNROLL
        for (int j = 0; j < Row::kEach; ++j) grad.v[k][j] = rstd * (grad.v[k][j] - mean_g - hat.v[k][j] * mean_gh);
      }
      grad.store(dx, span, t, p.aligned);
    });
  }
}
// The parameters' gradients of long rows: a thread has a column of every `groups`-th row.
template <class E>
__global__ void __launch_bounds__(256) long_rows_sums(const void* dy, const void* x, const void* means, const void* rstds,
                                                      void* dweight, void* dbias, int64_t groups, NormRows p) {
  using T = typename E::Value;
  const auto *grad = static_cast<const typename E::Stored*>(dy), *from = static_cast<const typename E::Stored*>(x);
  const int64_t group = blockIdx.y;
  for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < p.n; i += int64_t(gridDim.x) * 256) {
    T sum_dyh = 0, sum_dy = 0;
    for (int64_t r = group; r < p.rows; r += groups) {
      const T d = E::value(grad[r * p.n + i]);
      sum_dyh += d * ((T(E::value(from[r * p.n + i])) - static_cast<const T*>(means)[r]) * static_cast<const T*>(rstds)[r]);
      sum_dy += d;
    }
    if (dweight) static_cast<T*>(dweight)[group * p.n + i] = sum_dyh;
    if (dbias) static_cast<T*>(dbias)[group * p.n + i] = sum_dy;
  }
}

// The sums of `groups` rows [n] each, of one or of two (blockIdx.y). A thread takes every kDeep-th of a column, and what these
// have is added in one order.
struct Groups {
  const void* from;
  void* to;
  Code code;
};
constexpr int kAddThreads = 256, kAcross = 8, kDeep = kAddThreads / kAcross;
template <class T> __global__ void __launch_bounds__(kAddThreads, 4) add_groups(Groups a, Groups b, int64_t groups, int64_t n) {
  constexpr int kTogether = 8, kWarps = kAddThreads / kWarp;
  __shared__ double room[kWarps][kAcross];
  const int at = int(threadIdx.x) % kAcross, deep = int(threadIdx.x) / kAcross;
  const Groups p = blockIdx.y ? b : a;
  const auto* const from = static_cast<const T*>(p.from);
  for (int64_t first = int64_t(blockIdx.x) * kAcross; first < n; first += int64_t(gridDim.x) * kAcross) {
    double sum = 0;
    for (int64_t g = deep; g < groups && first + at < n; g += kDeep * kTogether) {
      T v[kTogether];
      DY_UNROLL
      for (int k = 0; k < kTogether; ++k) v[k] = g + k * kDeep < groups ? from[(g + k * kDeep) * n + first + at] : T(0);
      DY_UNROLL
      for (int k = 0; k < kTogether; ++k) sum += double(v[k]);
    }
    DY_UNROLL
    for (int by = kAcross; by < kWarp; by *= 2) sum += shuffle_xor(sum, by);
    __syncthreads();
    if (threadIdx.x % kWarp < kAcross) room[threadIdx.x / kWarp][at] = sum;
    __syncthreads();
    if (deep > 0 || first + at >= n) continue;
    for (int w = 1; w < kWarps; ++w) sum += room[w][at];
    store(p.code, p.to, first + at, T(sum));
  }
}

// Rows that add to the parameters' gradients in one place: by their number alone.
int64_t groups_of(int64_t rows, int64_t n) {
  const int64_t most = n <= 8 * kChunk ? 4096 : n <= 32 * kChunk ? 2048 : 512, groups = (rows + 3) / 4;
  return groups < most ? groups : most;
}

struct Backward {
  NormRows shape;
  Usual dy, x, weight, dx;
  Code dweight, dbias;
  int64_t groups, sums[2];  // of dweight and dbias, in the workspace
};
template <class E>
void backward(const Backward& p, NormRows s, const Pointers& at, const void* dy, const void* x, const void* weight, void* dx,
              void* dweight, void* dbias) {
  using T = typename E::Value;
  const void *mean = at.in[3], *rstd = at.in[4];
  const bool held = with_held_row<E, 4>(s.n, [&]<int kGroup, int kPer, int kThreads>() {
    with_exact(s.aligned, s.n, [&]<bool kExact>() {
      launch(held_rows_backward<E, kGroup, kPer, kThreads, kExact>,
             {.blocks = blocks_for(p.groups, kGroup, kThreads), .threads = kThreads}, dy, x, weight, mean, rstd, dx, dweight,
             dbias, p.groups, s);
    });
  });
  if (!held && dx)
    launch(long_rows_backward<E>, {.blocks = blocks_for(s.rows, 1, 1), .threads = kLongThreads}, dy, x, weight, mean, rstd, dx,
           s);
  if (!held && p.groups && (dweight || dbias))
    launch(long_rows_sums<E>, {.blocks = blocks_for(s.n, 1, 256), .y = int(p.groups)}, dy, x, mean, rstd, dweight, dbias,
           p.groups, s);
  const Groups a{dweight, at.out[1], p.dweight}, b{dbias, at.out[2], p.dbias};
  const int sums = (a.to != nullptr) + (b.to != nullptr);
  if (sums)
    launch(add_groups<T>, {.blocks = blocks_for(s.n, 1, kAcross), .threads = kAddThreads, .y = sums}, a.to ? a : b, b, p.groups,
           s.n);
}
void run_backward(const Backward& p, const Pointers& at) {
  NormRows s = p.shape;
  if (s.n == 0) return;
  const void *dy = p.dy.read(at.in[0], at.workspace), *x = p.x.read(at.in[1], at.workspace),
             *weight = p.weight.read(at.in[2], at.workspace);
  void* dx = p.dx.open(at.out[0], at.workspace);
  void* dweight = at.out[1] ? at_place(at.workspace, p.sums[0]) : nullptr;
  void* dbias = at.out[2] ? at_place(at.workspace, p.sums[1]) : nullptr;
  s.aligned = all_aligned(x, dy, weight, dx);
  with_usual(p.x.code, [&]<class E>() { backward<E>(p, s, at, dy, x, weight, dx, dweight, dbias); });
  p.dx.close(at.out[0], at.workspace);
}
void plan_backward(Call& c) {
  using namespace ops::native_layer_norm_backward_op;
  const Operand dy = c.operand(arg::grad), x = c.operand(arg::input), weight = c.operand(arg::weight);
  const Code code = dy.format == x.format ? usual_code(x.format) : x.itemsize() == 8 ? Code::f64 : Code::f32;
  const int64_t n = c[arg::normalized], rows = n ? x.count / n : 0;
  Room room(c.plan);
  Backward& p = c.plan.make<run_backward, Backward>();
  p.dy = Usual(dy, code, room), p.x = Usual(x, code, room), p.weight = parameter(weight, code, room);
  p.dx = Usual(c.result(), code, room, true);
  p.dweight = c.out[1].defined() ? code_of(c.result(1).format) : Code::none;
  p.dbias = c.out[2].defined() ? code_of(c.result(2).format) : Code::none;
  p.groups = groups_of(rows, n);
  const int64_t bytes = p.groups * n * (code == Code::f64 ? 8 : 4);
  p.sums[0] = p.dweight == Code::none ? 0 : room.take(bytes), p.sums[1] = p.dbias == Code::none ? 0 : room.take(bytes);
  p.shape = {rows, n, 0, c[arg::centred], p.weight.code == code, false};
}

const Registered norm_backward{"native_layer_norm_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
