// Layer and RMS normalization of rows: a row is held in registers, read once and written once.
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/norm.h"

namespace dyadic::gpu {
namespace {

// A span of row r as results.
template <class Row, class E, class T>
__device__ __forceinline__ void normalize(Row& row, const NormRows& p, const void* weight, const void* bias, T mean, T rstd,
                                          const Span& span, int64_t r, int t) {
  DY_UNROLL
  for (int k = 0; k < Row::kChunks; ++k) {
    T part[Row::kEach];
    DY_UNROLL
    for (int j = 0; j < Row::kEach; ++j) row.v[k][j] = (row.v[k][j] - mean) * rstd;
    if (weight) {
      load_parameter<Row, E>(weight, p.own_weight, p, span, r, t, k, part);
      DY_UNROLL
      for (int j = 0; j < Row::kEach; ++j) row.v[k][j] *= part[j];
    }
    if (bias) {
      load_parameter<Row, E>(bias, p.own_bias, p, span, r, t, k, part);
      DY_UNROLL
      for (int j = 0; j < Row::kEach; ++j) row.v[k][j] += part[j];
    }
  }
}

template <class E, int kGroup, int kPer, int kThreads, bool kExact>
__global__ void __launch_bounds__(kThreads, Streamed<E, kPer, kThreads, 1, kExact>::kBlocks)
    held_rows(const void* x, const void* weight, const void* bias, void* y, void* mean_out, void* rstd_out, NormRows p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, kPer, kExact>;
  __shared__ Rooms<kGroup, T> rooms;
  const int t = int(threadIdx.x) % kGroup;
  int turn = 0;
  auto span_of = [&](int64_t r) { return Row::span(r * p.n, r < p.rows ? p.n : 0); };
  typename Row::template Coming<> coming{};
  Row row;
  for_rows<Streamed<E, kPer, kThreads, 1, kExact>::kAhead, kThreads / kGroup>(
      p.rows, int(threadIdx.x) / kGroup, [&](int64_t r) { coming.load(x, span_of(r), t, p.aligned, T(0)); },
      [&] { row.take(coming); },
      [&](int64_t r) {
        const Span span = span_of(r);
        T mean = 0;
        if (p.centred) {
          mean = Row::fold([&](int k, int j) { return row.v[k][j]; }, Plus());
          mean = group_all<kGroup>(mean, rooms, turn, Plus()) / T(p.n);
          row.set_rest(span, t, mean);
        }
        T squares = Row::fold(
            [&](int k, int j) {
              const T d = row.v[k][j] - mean;
              return d * d;
            },
            Plus());
        squares = group_all<kGroup>(squares, rooms, turn, Plus());
        const T rstd = rsqrt_of(squares / T(p.n) + T(p.eps));
        if (t == 0 && r < p.rows) static_cast<T*>(mean_out)[r] = mean, static_cast<T*>(rstd_out)[r] = rstd;
        normalize<Row, E>(row, p, weight, bias, mean, rstd, span, r, t);
        row.store(y, span, t, p.aligned);
      });
}

template <class E>
__global__ void __launch_bounds__(kLongThreads)
    long_rows(const void* x, const void* weight, const void* bias, void* y, void* mean_out, void* rstd_out, NormRows p) {
  using T = typename E::Value;
  using Row = WideRow<E, kLongThreads, 2>;
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

struct Forward {
  NormRows shape;
  Usual x, weight, bias, y;
};
void run(const Forward& p, const Pointers& at) {
  if (p.shape.rows * p.shape.n == 0) return;
  const void *x = p.x.read(at.in[0], at.workspace), *weight = p.weight.read(at.in[1], at.workspace),
             *bias = p.bias.read(at.in[2], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  NormRows s = p.shape;
  s.aligned = all_aligned(x, weight, bias, y);
  with_usual(p.x.code, [&]<class E>() {
    const bool held = with_held_row<E, 1>(s.n, [&]<int kGroup, int kPer, int kThreads>() {
      with_exact(s.aligned, s.n, [&]<bool kExact>() {
        constexpr int kBlocks = Streamed<E, kPer, kThreads, 1, kExact>::kBlocks;
        launch(held_rows<E, kGroup, kPer, kThreads, kExact>,
               {.blocks = blocks_for(s.rows, kGroup, kThreads, kBlocks), .threads = kThreads}, x, weight, bias, y, at.out[1],
               at.out[2], s);
      });
    });
    if (!held)
      launch(long_rows<E>, {.blocks = blocks_for(s.rows, 1, 1), .threads = kLongThreads}, x, weight, bias, y, at.out[1],
             at.out[2], s);
  });
  p.y.close(at.out[0], at.workspace);
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

const Registered norm{"native_layer_norm", {.plan = plan, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
