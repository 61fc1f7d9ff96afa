// Layer and RMS normalization of rows: forward holds a row in registers, reads it once and writes it once. Backward holds a row
// of both and, from row to row, the sums of the parameters' gradients; what each group of threads has is added in order
// afterwards.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

struct Shape {
  int64_t rows, n;
  double eps;
  bool centred;
  bool own_weight, own_bias;  // stored as x is, else in the compute type
  bool aligned = false;
};
template <class T> using Wide = ElementOf<sizeof(T) == 8 ? Code::f64 : Code::f32>;

// Chunk k of a parameter beside a span of row r.
template <class Row, class E, class T>
__device__ __forceinline__ void load_parameter(const void* at, bool own, const Shape& p, const Span& span, int64_t r, int t,
                                               int k, T (&v)[kChunk]) {
  const int64_t first = span.first - r * p.n;
  const bool wide = p.aligned && p.n % kChunk == 0;
  if (own)
    Row::template load_chunk<E>(static_cast<const typename E::Stored*>(at) + first, span, t, k, wide, v, T(0));
  else
    Row::template load_chunk<Wide<T>>(static_cast<const T*>(at) + first, span, t, k, wide, v, T(0));
}

// A span of row r as results.
template <class Row, class E, class T>
__device__ __forceinline__ void normalize(Row& row, const Shape& p, const void* weight, const void* bias, T mean, T rstd,
                                          const Span& span, int64_t r, int t) {
  constexpr int kPer = sizeof(row.v) / sizeof(row.v[0]);
  DY_UNROLL
  for (int k = 0; k < kPer; ++k) {
    T part[kChunk];
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) row.v[k][j] = (row.v[k][j] - mean) * rstd;
    if (weight) {
      load_parameter<Row, E>(weight, p.own_weight, p, span, r, t, k, part);
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) row.v[k][j] *= part[j];
    }
    if (bias) {
      load_parameter<Row, E>(bias, p.own_bias, p, span, r, t, k, part);
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) row.v[k][j] += part[j];
    }
  }
}

template <class E, int kGroup, int kPer, int kThreads>
__global__ void __launch_bounds__(kThreads)
    held_rows(const void* x, const void* weight, const void* bias, void* y, void* mean_out, void* rstd_out, Shape p) {
  using T = typename E::Value;
  using Row = HeldRow<E, kGroup, kPer>;
  __shared__ T room[kGroupRoom<kGroup>];
  constexpr int kRows = kThreads / kGroup;
  const int t = int(threadIdx.x) % kGroup;
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < p.rows; first += int64_t(gridDim.x) * kRows) {
    const int64_t r = first + threadIdx.x / kGroup, n = r < p.rows ? p.n : 0;
    const Span span = Row::span(r * p.n, n);
    Row row;
    row.load(x, span, t, p.aligned, T(0));
    T mean = 0;
    if (p.centred) {
      mean = Row::fold([&](int k, int j) { return row.v[k][j]; }, Plus());
      mean = group_all<kGroup>(mean, room, Plus()) / T(p.n);
    }
    T squares = Row::fold(
        [&](int k, int j) {
          const T d = row.v[k][j] - mean;
          return Row::has(span, t, k, j) ? d * d : T(0);
        },
        Plus());
    squares = group_all<kGroup>(squares, room, Plus());
    const T rstd = rsqrt_of(squares / T(p.n) + T(p.eps));
    if (t == 0 && r < p.rows) static_cast<T*>(mean_out)[r] = mean, static_cast<T*>(rstd_out)[r] = rstd;
    normalize<Row, E>(row, p, weight, bias, mean, rstd, span, r, t);
    row.store(y, span, t, p.aligned);
  }
}

constexpr int kLongThreads = 512;

template <class E>
__global__ void __launch_bounds__(kLongThreads)
    long_rows(const void* x, const void* weight, const void* bias, void* y, void* mean_out, void* rstd_out, Shape p) {
  using T = typename E::Value;
  using Row = HeldRow<E, kLongThreads, 2>;
  __shared__ Moments room[kGroupRoom<kLongThreads>];
  const int t = int(threadIdx.x);
  for (int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
    Row row;
    Moments all;
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      row.load(x, span, t, p.aligned, T(0));
      const int count = Row::fold([&](int k, int j) { return int(Row::has(span, t, k, j)); }, Plus());
      const T sum = Row::fold([&](int k, int j) { return row.v[k][j]; }, Plus()),
              middle = p.centred && count ? sum / T(count) : T(0);
      const T squares = Row::fold(
          [&](int k, int j) {
            const T d = row.v[k][j] - middle;
            return Row::has(span, t, k, j) ? d * d : T(0);
          },
          Plus());
      all = MergeMoments()(all, {double(count), double(middle), double(squares)});
    });
    all = group_all<kLongThreads>(all, room, MergeMoments());
    const T mean = T(all.mean), rstd = T(1 / sqrt(all.squares / double(p.n) + p.eps));
    if (t == 0) static_cast<T*>(mean_out)[r] = mean, static_cast<T*>(rstd_out)[r] = rstd;
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      row.load(x, span, t, p.aligned, T(0));
      normalize<Row, E>(row, p, weight, bias, mean, rstd, span, r, t);
      row.store(y, span, t, p.aligned);
    });
  }
}

// With g = dy weight and h = (x - mean) rstd: dx = rstd (g - mean(g) - h mean(g h)), dweight += dy h, dbias += dy. Without
// centring mean(g) falls away. `dx`, and the sums [groups, n], may be null.
template <class E, int kGroup, int kPer, int kThreads>
__global__ void __launch_bounds__(kThreads)
    held_rows_backward(const void* dy, const void* x, const void* weight, const void* means, const void* rstds, void* dx,
                       void* dweight, void* dbias, int64_t groups, Shape p) {
  using T = typename E::Value;
  using Row = HeldRow<E, kGroup, kPer>;
  __shared__ Pair<T> room[kGroupRoom<kGroup>];
  const int t = int(threadIdx.x) % kGroup;
  const int64_t group = int64_t(blockIdx.x) * (kThreads / kGroup) + threadIdx.x / kGroup;
  const bool aligned = p.aligned && p.n % kChunk == 0;
  Row own_dweight, own_dbias;
  own_dweight.each([](T& v) { v = 0; });
  own_dbias.each([](T& v) { v = 0; });
  for (int64_t first = 0; first < p.rows; first += groups) {  // all threads of a block go on as long as one does
    const int64_t r = first + group, n = group < groups && r < p.rows ? p.n : 0;
    const T mean = n ? static_cast<const T*>(means)[r] : T(0), rstd = n ? static_cast<const T*>(rstds)[r] : T(0);
    Span span = Row::span(r * p.n, n);
    span.n = int(n), span.off = 0;  // a thread has the same columns of all rows
    Row grad, hat;
    grad.load(dy, span, t, aligned, T(0));
    hat.load(x, span, t, aligned, mean);  // beyond the row both are 0 in the end
    Pair<T> sums{};
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      T w[kChunk];
      if (weight) load_parameter<Row, E>(weight, p.own_weight, p, span, r, t, k, w);
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) {
        hat.v[k][j] = (hat.v[k][j] - mean) * rstd;
        own_dweight.v[k][j] += grad.v[k][j] * hat.v[k][j];
        own_dbias.v[k][j] += grad.v[k][j];
        if (weight) grad.v[k][j] *= w[j];
        sums.a += grad.v[k][j];
        sums.b += grad.v[k][j] * hat.v[k][j];
      }
    }
    sums = group_all<kGroup>(sums, room, PlusBoth());
    const T mean_g = p.centred ? sums.a / T(p.n) : T(0), mean_gh = sums.b / T(p.n);
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) grad.v[k][j] = rstd * (grad.v[k][j] - mean_g - hat.v[k][j] * mean_gh);
    }
    if (dx) grad.store(dx, span, t, aligned);
  }
  if (group >= groups) return;
  DY_UNROLL
  for (int k = 0; k < kPer; ++k) {
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) {
      const int64_t i = (k * kGroup + t) * kChunk + j;
      if (i >= p.n) continue;
      if (dweight) static_cast<T*>(dweight)[group * p.n + i] = own_dweight.v[k][j];
      if (dbias) static_cast<T*>(dbias)[group * p.n + i] = own_dbias.v[k][j];
    }
  }
}

template <class E>
__global__ void __launch_bounds__(kLongThreads) long_rows_backward(const void* dy, const void* x, const void* weight,
                                                                   const void* means, const void* rstds, void* dx, Shape p) {
  using T = typename E::Value;
  using Row = HeldRow<E, kLongThreads, 1>;
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
      T w[kChunk];
      load_parameter<Row, E>(weight, p.own_weight, p, span, r, t, 0, w);
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) grad.v[0][j] *= w[j];
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
      for (int j = 0; j < kChunk; ++j) grad.v[0][j] = rstd * (grad.v[0][j] - mean_g - hat.v[0][j] * mean_gh);
      grad.store(dx, span, t, p.aligned);
    });
  }
}
// The parameters' gradients of long rows: a thread has a column of every `groups`-th row.
template <class E>
__global__ void __launch_bounds__(256) long_rows_sums(const void* dy, const void* x, const void* means, const void* rstds,
                                                      void* dweight, void* dbias, int64_t groups, Shape p) {
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

// y[n] = the sum of `groups` rows: each of eight threads takes every eighth, then their sums in order.
template <class T>
__global__ void __launch_bounds__(256) add_groups(const T* sums, int64_t groups, int64_t n, Code code, void* y) {
  __shared__ double room[256];
  const int at = int(threadIdx.x) % 32, deep = int(threadIdx.x) / 32;
  for (int64_t first = int64_t(blockIdx.x) * 32; first < n; first += int64_t(gridDim.x) * 32) {
    double sum = 0;
    for (int64_t g = deep; g < groups && first + at < n; g += 8) sum += double(sums[g * n + first + at]);
    __syncthreads();
    room[threadIdx.x] = sum;
    __syncthreads();
    if (deep > 0 || first + at >= n) continue;
    for (int k = 1; k < 8; ++k) sum += room[k * 32 + at];
    store(code, y, first + at, T(sum));
  }
}

struct Forward {
  Shape shape;
  Usual x, weight, bias, y;
};
void run(const Forward& p, const Pointers& at) {
  if (p.shape.rows * p.shape.n == 0) return;
  const void *x = p.x.read(at.in[0], at.workspace), *weight = p.weight.read(at.in[1], at.workspace),
             *bias = p.bias.read(at.in[2], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  Shape s = p.shape;
  s.aligned = all_aligned(x, weight, bias, y);
  with_usual(p.x.code, [&]<class E>() {
    const bool held = with_held_row<E, 1>(s.n, [&]<int kGroup, int kPer, int kThreads>() {
      launch(held_rows<E, kGroup, kPer, kThreads>, {.blocks = blocks_for(s.rows, kGroup, kThreads), .threads = kThreads}, x,
             weight, bias, y, at.out[1], at.out[2], s);
    });
    if (!held)
      launch(long_rows<E>, {.blocks = blocks_for(s.rows, 1, 1), .threads = kLongThreads}, x, weight, bias, y, at.out[1],
             at.out[2], s);
  });
  p.y.close(at.out[0], at.workspace);
}
// A parameter as x is stored, or in what is computed in.
Usual parameter(const Operand& o, Code x, Room& room) {
  if (!o.defined()) return {};
  return Usual(o, code_of(o.format) == x ? x : x == Code::f64 ? Code::f64 : Code::f32, room);
}
void plan(Call& c) {
  using namespace ops::native_layer_norm_op;
  const Operand x = c.operand(arg::input), weight = c.operand(arg::weight.at), bias = c.operand(arg::bias.at);
  const Code code = usual_code(x.format);
  Room room(c.plan);
  Forward& p = c.plan.make<run, Forward>();
  const int64_t n = c[arg::normalized];
  p.x = Usual(x, code, room), p.y = Usual(c.result(), code, room, true);
  p.weight = parameter(weight, code, room), p.bias = parameter(bias, code, room);
  p.shape = {n ? x.count / n : 0, n, c[arg::eps], c[arg::centred], p.weight.code == code, p.bias.code == code};
}

// Rows that add to the parameters' gradients in one place: by their number alone.
int64_t groups_of(int64_t rows, int64_t n) {
  const int64_t most = n <= 32 * 2 * kChunk ? 2048 : 512, groups = (rows + 3) / 4;
  return groups < most ? groups : most;
}

struct Backward {
  Shape shape;
  Usual dy, x, weight, dx;
  Code dweight, dbias;
  int64_t groups, sums[2];  // of dweight and dbias, in the workspace
};
template <class E>
void backward(const Backward& p, Shape s, const Pointers& at, const void* dy, const void* x, const void* weight, void* dx,
              void* dweight, void* dbias) {
  using T = typename E::Value;
  const void *mean = at.in[3], *rstd = at.in[4];
  const bool held = with_held_row<E, 4>(s.n, [&]<int kGroup, int kPer, int kThreads>() {
    launch(held_rows_backward<E, kGroup, kPer, kThreads>,
           {.blocks = blocks_for(p.groups, kGroup, kThreads), .threads = kThreads}, dy, x, weight, mean, rstd, dx, dweight,
           dbias, p.groups, s);
  });
  if (!held && dx)
    launch(long_rows_backward<E>, {.blocks = blocks_for(s.rows, 1, 1), .threads = kLongThreads}, dy, x, weight, mean, rstd, dx,
           s);
  if (!held && p.groups && (dweight || dbias))
    launch(long_rows_sums<E>, {.blocks = blocks_for(s.n, 1, 256), .y = int(p.groups)}, dy, x, mean, rstd, dweight, dbias,
           p.groups, s);
  const Grid columns{.blocks = blocks_for(s.n, 1, 32)};
  if (at.out[1]) launch(add_groups<T>, columns, static_cast<const T*>(dweight), p.groups, s.n, p.dweight, at.out[1]);
  if (at.out[2]) launch(add_groups<T>, columns, static_cast<const T*>(dbias), p.groups, s.n, p.dbias, at.out[2]);
}
void run_backward(const Backward& p, const Pointers& at) {
  Shape s = p.shape;
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

const Registered norm{"native_layer_norm", {.plan = plan, .dense = true}};
const Registered norm_backward{"native_layer_norm_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
