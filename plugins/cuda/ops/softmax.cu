// softmax, log_softmax and their gradient: a row is read once, held in registers and written once, while the next is on its
// way; a longer one is read twice, the first time with a running maximum. Along other dimensions than the last, columns go side
// by side.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/along.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

struct Shape {
  int64_t outer, n, inner;
  bool log;
  bool aligned = false;
};

// What makes results of elements.
template <class E> struct Scale {
  using T = typename E::Value;
  T top, by;  // by: 1 / sum, or its logarithm
  __device__ __forceinline__ Scale(T top, T sum, bool log) : top(top), by(log ? log_of(sum) : T(1) / sum) {}
  __device__ __forceinline__ T of(T x, bool log) const { return log ? x - top - by : exp_as<E>(x - top) * by; }
};
template <class E, int kGroup, int kPer, int kThreads, bool kExact>
__global__ void __launch_bounds__(kThreads, Streamed<E, kPer, kThreads, 1, kExact, 8>::kBlocks)
    held_rows(const void* x, void* y, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, kPer, kExact>;
  __shared__ Rooms<kGroup, T> rooms;
  const int t = int(threadIdx.x) % kGroup;
  const bool log = p.log;
  int turn = 0;
  auto span_of = [&](int64_t r) { return Row::span(r * p.n, r < p.outer ? p.n : 0); };
  typename Row::template Coming<> coming{};
  Row row;
  for_rows<Streamed<E, kPer, kThreads, 1, kExact, 8>::kAhead, kThreads / kGroup>(
      p.outer, int(threadIdx.x) / kGroup, [&](int64_t r) { coming.load(x, span_of(r), t, p.aligned, kLowest<T>); },
      [&] { row.take(coming); },
      [&](int64_t r) {
        T top = Row::fold([&](int k, int j) { return row.v[k][j]; }, LargerNumber());
        top = group_all<kGroup>(top, rooms, turn, LargerNumber());
        // Beyond the row there is -inf, whose exponential is 0; relative to an infinite top, or NaN, all is NaN, there too.
        row.each([&](T& v) { v = log ? v - top : exp_as<E>(v - top); });
        T sum = Row::fold([&](int k, int j) { return log ? exp_as<E>(row.v[k][j]) : row.v[k][j]; }, Plus());
        sum = group_all<kGroup>(sum, rooms, turn, Plus());
        const T by = log ? log_of(sum) : T(1) / sum;
        row.each([&](T& v) { v = log ? v - by : v * by; });
        row.store(y, span_of(r), t, p.aligned);
      });
}

constexpr int kLongThreads = 512;

template <class E> __global__ void __launch_bounds__(kLongThreads) long_rows(const void* x, void* y, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kLongThreads, 2>;
  __shared__ Exponentials<T> room[kGroupRoom<kLongThreads>];
  const int t = int(threadIdx.x);
  for (int64_t r = blockIdx.x; r < p.outer; r += gridDim.x) {
    Exponentials<T> run;
    Row row;
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      row.load(x, span, t, p.aligned, kLowest<T>);
      run.raise(Row::fold([&](int k, int j) { return row.v[k][j]; }, LargerNumber()));
      const T shift = run.shift();
      run.sum += double(Row::fold([&](int k, int j) { return exp_as<E>(row.v[k][j] - shift); }, Plus()));
    });
    run = group_all<kLongThreads>(run, room, MergeExponentials());
    const Scale<E> scale(run.top, T(run.sum), p.log);
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      row.load(x, span, t, p.aligned, T(0));
      row.each([&](T& v) { v = scale.of(v, p.log); });
      row.store(y, span, t, p.aligned);
    });
  }
}

// A thread's column, of which kDeep threads share one, and the total of what they have, merged in order.
constexpr int kColumnThreads = 256;
template <int kDeep> struct Column {
  static constexpr int kWide = kColumnThreads / kDeep;
  int deep = int(threadIdx.x) / kWide, at = int(threadIdx.x) % kWide;
  int64_t from, n;
  __device__ __forceinline__ Column(int64_t first, const Shape& p) {
    const int64_t c = first + at;
    from = c / p.inner * p.n * p.inner + c % p.inner, n = c < p.outer * p.inner ? p.n : 0;
  }
  template <class A, class M> __device__ __forceinline__ A total(A mine, A* room, M merge) const {
    if constexpr (kDeep > 1) {
      __syncthreads();
      room[threadIdx.x] = mine;
      __syncthreads();
      mine = room[at];
      for (int k = 1; k < kDeep; ++k) mine = merge(mine, room[k * kWide + at]);
    }
    return mine;
  }
};

template <class E, int kDeep> __global__ void __launch_bounds__(kColumnThreads, 2) columns(const void* in, void* out, Shape p) {
  using T = typename E::Value;
  using C = Column<kDeep>;
  constexpr int kTogether = 8;  // entries that are on their way at once
  __shared__ Exponentials<T> room[kDeep > 1 ? kColumnThreads : 1];
  const auto* x = static_cast<const typename E::Stored*>(in);
  auto* y = static_cast<typename E::Stored*>(out);
  for (int64_t first = int64_t(blockIdx.x) * C::kWide; first < p.outer * p.inner; first += int64_t(gridDim.x) * C::kWide) {
    const C c(first, p);
    Exponentials<T> run;
    for (int64_t i = c.deep; i < c.n; i += kDeep * kTogether) {
      T v[kTogether], most = kLowest<T>, sum = 0;
      DY_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        v[k] = i + k * kDeep < c.n ? T(E::value(x[c.from + (i + k * kDeep) * p.inner])) : kLowest<T>;
        most = v[k] > most ? v[k] : most;
      }
      run.raise(most);
      const T shift = run.shift();
      DY_UNROLL
      for (int k = 0; k < kTogether; ++k) sum += exp_as<E>(v[k] - shift);
      run.sum += double(sum);
    }
    run = c.total(run, room, MergeExponentials());
    const Scale<E> scale(run.top, T(run.sum), p.log);
    for (int64_t i = c.deep; i < c.n; i += kDeep)
      y[c.from + i * p.inner] = E::stored(scale.of(E::value(x[c.from + i * p.inner]), p.log));
  }
}

// Of the gradient: softmax's is y (dy - sum(y dy)), its logarithm's dy - exp(y) sum(dy).
template <class T> __device__ __forceinline__ T term(T y, T dy, bool log) { return log ? dy : y * dy; }
template <class E, class T> __device__ __forceinline__ T gradient(T y, T dy, T sum, bool log) {
  return log ? dy - exp_as<E>(y) * sum : y * (dy - sum);
}

template <class E, int kGroup, int kPer, int kThreads, bool kExact>
__global__ void __launch_bounds__(kThreads, Streamed<E, kPer, kThreads, 2, kExact, 8>::kBlocks)
    held_rows_backward(const void* y, const void* dy, void* dx, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, kPer, kExact>;
  __shared__ Rooms<kGroup, T> rooms;
  const int t = int(threadIdx.x) % kGroup;
  int turn = 0;
  auto span_of = [&](int64_t r) { return Row::span(r * p.n, r < p.outer ? p.n : 0); };
  typename Row::template Coming<> result_coming{}, grad_coming{};
  Row result, grad;
  for_rows<Streamed<E, kPer, kThreads, 2, kExact, 8>::kAhead, kThreads / kGroup>(
      p.outer, int(threadIdx.x) / kGroup,
      [&](int64_t r) {
        result_coming.load(y, span_of(r), t, p.aligned, T(0));
        grad_coming.load(dy, span_of(r), t, p.aligned, T(0));
      },
      [&] { result.take(result_coming), grad.take(grad_coming); },
      [&](int64_t r) {
        T sum = Row::fold([&](int k, int j) { return term(result.v[k][j], grad.v[k][j], p.log); }, Plus());
        sum = group_all<kGroup>(sum, rooms, turn, Plus());
        DY_UNROLL
        for (int k = 0; k < Row::kChunks; ++k) {
          DY_UNROLL
          for (int j = 0; j < Row::kEach; ++j) grad.v[k][j] = gradient<E>(result.v[k][j], grad.v[k][j], sum, p.log);
        }
        grad.store(dx, span_of(r), t, p.aligned);
      });
}
template <class E>
__global__ void __launch_bounds__(kLongThreads) long_rows_backward(const void* y, const void* dy, void* dx, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kLongThreads, 1>;
  __shared__ double room[kGroupRoom<kLongThreads>];
  const int t = int(threadIdx.x);
  for (int64_t r = blockIdx.x; r < p.outer; r += gridDim.x) {
    Row result, grad;
    double total = 0;
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      result.load(y, span, t, p.aligned, T(0));
      grad.load(dy, span, t, p.aligned, T(0));
      total += double(Row::fold([&](int k, int j) { return term(result.v[k][j], grad.v[k][j], p.log); }, Plus()));
    });
    const T sum = T(group_all<kLongThreads>(total, room, Plus()));
    for_spans<Row>(r * p.n, p.n, [&](const Span& span) {
      result.load(y, span, t, p.aligned, T(0));
      grad.load(dy, span, t, p.aligned, T(0));
      DY_UNROLL
      for (int k = 0; k < Row::kChunks; ++k) {
        DY_UNROLL
        for (int j = 0; j < Row::kEach; ++j) grad.v[k][j] = gradient<E>(result.v[k][j], grad.v[k][j], sum, p.log);
      }
      grad.store(dx, span, t, p.aligned);
    });
  }
}
template <class E, int kDeep>
__global__ void __launch_bounds__(kColumnThreads, 2)
    columns_backward(const void* result, const void* grad, void* out, Shape p) {
  using T = typename E::Value;
  using C = Column<kDeep>;
  __shared__ double room[kDeep > 1 ? kColumnThreads : 1];
  const auto *y = static_cast<const typename E::Stored*>(result), *dy = static_cast<const typename E::Stored*>(grad);
  auto* dx = static_cast<typename E::Stored*>(out);
  for (int64_t first = int64_t(blockIdx.x) * C::kWide; first < p.outer * p.inner; first += int64_t(gridDim.x) * C::kWide) {
    const C c(first, p);
    double total = 0;
    for (int64_t i = c.deep; i < c.n; i += kDeep) {
      const int64_t e = c.from + i * p.inner;
      total += double(term<T>(E::value(y[e]), E::value(dy[e]), p.log));
    }
    const T sum = T(c.total(total, room, Plus()));
    for (int64_t i = c.deep; i < c.n; i += kDeep) {
      const int64_t e = c.from + i * p.inner;
      dx[e] = E::stored(gradient<E, T>(E::value(y[e]), E::value(dy[e]), sum, p.log));
    }
  }
}

constexpr int64_t kDeepColumns = 64;  // entries from which on several threads share a column
Grid column_grid(const Shape& p, int deep) {
  return {.blocks = blocks_for(p.outer * p.inner, deep, kColumnThreads), .threads = kColumnThreads};
}

// Operands are converted to one format: the result's, as a dtype that is given says what x is taken in.
struct Softmax {
  Shape shape;
  Usual x, y, dy;
};
template <class E> void forward(Shape p, const void* x, void* y) {
  if (p.inner > 1 && p.n < kDeepColumns) return launch(columns<E, 1>, column_grid(p, 1), x, y, p);
  if (p.inner > 1) return launch(columns<E, 8>, column_grid(p, 8), x, y, p);
  p.aligned = all_aligned(x, y);
  const bool held = with_held_row<E, 1>(p.n, [&]<int kGroup, int kPer, int kThreads>() {
    with_exact(p.aligned, p.n, [&]<bool kExact>() {
      constexpr int kBlocks = Streamed<E, kPer, kThreads, 1, kExact, 8>::kBlocks;
      launch(held_rows<E, kGroup, kPer, kThreads, kExact>,
             {.blocks = blocks_for(p.outer, kGroup, kThreads, kBlocks), .threads = kThreads}, x, y, p);
    });
  });
  if (!held) launch(long_rows<E>, {.blocks = blocks_for(p.outer, 1, 1), .threads = kLongThreads}, x, y, p);
}
void run(const Softmax& p, const Pointers& at) {
  if (p.shape.outer * p.shape.n * p.shape.inner == 0) return;
  const void* x = p.x.read(at.in[0], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  with_usual(p.y.code, [&]<class E>() { forward<E>(p.shape, x, y); });
  p.y.close(at.out[0], at.workspace);
}

template <class E> void backward(Shape p, const void* y, const void* dy, void* dx) {
  if (p.inner > 1 && p.n < kDeepColumns) return launch(columns_backward<E, 1>, column_grid(p, 1), y, dy, dx, p);
  if (p.inner > 1) return launch(columns_backward<E, 8>, column_grid(p, 8), y, dy, dx, p);
  p.aligned = all_aligned(y, dy, dx);
  const bool held = with_held_row<E, 2>(p.n, [&]<int kGroup, int kPer, int kThreads>() {
    with_exact(p.aligned, p.n, [&]<bool kExact>() {
      constexpr int kBlocks = Streamed<E, kPer, kThreads, 2, kExact, 8>::kBlocks;
      launch(held_rows_backward<E, kGroup, kPer, kThreads, kExact>,
             {.blocks = blocks_for(p.outer, kGroup, kThreads, kBlocks), .threads = kThreads}, y, dy, dx, p);
    });
  });
  if (!held) launch(long_rows_backward<E>, {.blocks = blocks_for(p.outer, 1, 1), .threads = kLongThreads}, y, dy, dx, p);
}
void run_backward(const Softmax& p, const Pointers& at) {
  if (p.shape.outer * p.shape.n * p.shape.inner == 0) return;
  const void* dy = p.dy.read(at.in[ops::softmax_backward_op::arg::grad.tensor], at.workspace);
  const void* y = p.x.read(at.in[ops::softmax_backward_op::arg::result.tensor], at.workspace);
  void* dx = p.y.open(at.out[0], at.workspace);
  with_usual(p.y.code, [&]<class E>() { backward<E>(p.shape, y, dy, dx); });
  p.y.close(at.out[0], at.workspace);
}

template <bool kLog> void plan(Call& c) {
  const Along along(c.impl(0), c[ops::softmax_op::arg::dim]);
  const Operand x = c.operand(0), y = c.result();
  const Code code = usual_code(y.format);
  Room room(c.plan);
  c.plan.set<run>(Softmax{{along.outer, along.n, along.inner, kLog}, Usual(x, code, room), Usual(y, code, room, true), {}});
}
void plan_backward(Call& c) {
  using namespace ops::softmax_backward_op;
  const Along along(c.impl(arg::result), c[arg::dim]);
  const Operand y = c.operand(arg::result), dy = c.operand(arg::grad), dx = c.result();
  const bool same = y.format == dy.format && y.format == dx.format;
  const Code code = same || dx.itemsize() == 8 ? usual_code(dx.format) : Code::f32;
  Room room(c.plan);
  c.plan.set<run_backward>(Softmax{{along.outer, along.n, along.inner, c[arg::log]},
                                   Usual(y, code, room),
                                   Usual(dx, code, room, true),
                                   Usual(dy, code, room)});
}

const Registered softmax{"softmax", {.plan = plan<false>, .dense = true}};
const Registered log_softmax{"log_softmax", {.plan = plan<true>, .dense = true}};
const Registered softmax_backward{"softmax_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
