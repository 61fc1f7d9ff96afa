// Cross entropy of logits [rows, classes] against class numbers; the softmax is never stored. Forward reads a row once, with a
// running maximum; backward reads and writes once. Of long rows the next part is always on its way.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

template <class E> inline constexpr int kPer = sizeof(typename E::Value) == 8 ? 1 : 2;  // eights of a thread

// Threads of a multiprocessor, at least.
template <class E>
inline constexpr int kResident = sizeof(typename E::Stored) == 2   ? 1024
                                 : sizeof(typename E::Stored) == 4 ? 768
                                                                   : 256;

struct Shape {
  int64_t rows, classes, ignored;
  double smoothing;  // the target is (1 - s) of the class plus s / classes of every class
  bool aligned = false;
};

// Of a row: its exponentials, and the plain sum of the logits, for smoothing.
template <class T> struct RowSums {
  Exponentials<T> exponentials;
  T logits = 0;
};
struct MergeSums {
  template <class T> __device__ __forceinline__ RowSums<T> operator()(const RowSums<T>& a, const RowSums<T>& b) const {
    return {MergeExponentials()(a.exponentials, b.exponentials), a.logits + b.logits};
  }
};

template <class E, int kGroup, int kThreads>
__global__ void __launch_bounds__(kThreads, kResident<E> / kThreads)
    forward(const void* x, const int64_t* targets, void* losses, void* lses, Failure* failed, int op, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, kPer<E>>;
  __shared__ RowSums<T> room[kGroupRoom<kGroup>];
  constexpr int kRows = kThreads / kGroup;
  const int t = int(threadIdx.x) % kGroup;
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < p.rows; first += int64_t(gridDim.x) * kRows) {
    const int64_t r = first + threadIdx.x / kGroup, target = r < p.rows ? targets[r] : p.ignored;
    const bool ignored = target == p.ignored, is_class = uint64_t(target) < uint64_t(p.classes);
    RowSums<T> sums;
    typename Row::template Coming<> coming{};
    Row row;
    for_spans_ahead<Row>(
        r * p.classes, ignored ? 0 : p.classes, 0, 1, [&](const Span& span) { coming.load(x, span, t, p.aligned, kLowest<T>); },
        [&] { row.take(coming); },
        [&](const Span& span) {
          sums.exponentials.raise(Row::fold([&](int k, int j) { return row.v[k][j]; }, LargerNumber()));
          const T shift = sums.exponentials.shift();
          sums.exponentials.sum += double(Row::fold([&](int k, int j) { return exp_as<E>(row.v[k][j] - shift); }, Plus()));
          if (p.smoothing == 0) return;
          row.set_rest(span, t, T(0));
          sums.logits += Row::fold([&](int k, int j) { return row.v[k][j]; }, Plus());
        });
    sums = group_all<kGroup>(sums, room, MergeSums());
    if (t != 0 || r >= p.rows) continue;
    if (!ignored && !is_class) fail_index(failed, op, target, p.classes);
    const T lse = ignored ? T(0) : sums.exponentials.top + log_of(T(sums.exponentials.sum));
    T loss = 0;
    if (is_class && !ignored) {
      loss = lse - T(E::value(static_cast<const typename E::Stored*>(x)[r * p.classes + target]));
      if (p.smoothing != 0) loss = T(1 - p.smoothing) * loss + T(p.smoothing) * (lse - sums.logits / T(p.classes));
    }
    static_cast<T*>(losses)[r] = loss, static_cast<T*>(lses)[r] = lse;
  }
}

constexpr int kTotalThreads = 1024;

// The sum of the losses, or their mean over the rows that count; one block.
template <class T>
__global__ void __launch_bounds__(kTotalThreads)
    total(const void* losses, const int64_t* targets, bool mean, Code code, void* out, Shape p) {
  __shared__ Pair<double> room[kGroupRoom<kTotalThreads>];
  Pair<double> sums{};  // of losses, of rows
  for (int64_t r = threadIdx.x; r < p.rows; r += kTotalThreads) {
    sums.a += double(static_cast<const T*>(losses)[r]);
    sums.b += targets[r] != p.ignored;
  }
  sums = group_all<kTotalThreads>(sums, room, PlusBoth());
  if (threadIdx.x == 0) store(code, out, 0, mean ? sums.a / sums.b : sums.a);
}
template <class T> __global__ void __launch_bounds__(256) write_losses(const void* losses, Code code, void* out, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 256)
    store(code, out, i, static_cast<const T*>(losses)[i]);
}
// 1 / the number of rows that count; one block.
__global__ void __launch_bounds__(kTotalThreads) share_of_row(const int64_t* targets, double* out, Shape p) {
  __shared__ double room[kGroupRoom<kTotalThreads>];
  double rows = 0;
  for (int64_t r = threadIdx.x; r < p.rows; r += kTotalThreads) rows += targets[r] != p.ignored;
  rows = group_all<kTotalThreads>(rows, room, Plus());
  if (threadIdx.x == 0) *out = 1 / rows;
}

// (softmax - the target's distribution) times the row's gradient and `share`, which may be null; zeros where the target is
// ignored. Blocks in y take the parts of long rows.
template <class E, int kGroup, int kThreads>
__global__ void __launch_bounds__(kThreads, kResident<E> / kThreads)
    backward(const void* x, const int64_t* targets, const void* lses, const void* grad, Code grad_code, int grad_step,
             const double* share, void* dx, Failure* failed, int op, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, kPer<E>>;
  constexpr int kRows = kThreads / kGroup;
  const int t = int(threadIdx.x) % kGroup;
  const T even = T(p.smoothing / double(p.classes)), own = T(1 - p.smoothing);
  const double scale = share ? *share : 1;
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < p.rows; first += int64_t(gridDim.x) * kRows) {
    const int64_t r = first + threadIdx.x / kGroup;
    if (r >= p.rows) return;  // nobody waits for these
    const int64_t target = targets[r];
    const bool ignored = target == p.ignored;
    if (!ignored && uint64_t(target) >= uint64_t(p.classes) && t == 0) fail_index(failed, op, target, p.classes);
    const T lse = static_cast<const T*>(lses)[r];
    const T factor = ignored ? T(0) : T(double(load<T>(grad_code, grad, r * grad_step)) * scale);
    typename Row::template Coming<> coming{};
    Row row;
    for_spans_ahead<Row>(
        r * p.classes, p.classes, int(blockIdx.y), int(gridDim.y),
        [&](const Span& span) { coming.load(x, span, t, p.aligned, T(0)); }, [&] { row.take(coming); },
        [&](const Span& span) {
          const int64_t here = target - (span.first - r * p.classes);
          row.each([&](T& v) { v = exp_as<E>(v - lse); });
          if (here >= 0 && here < span.n) {
            DY_UNROLL
            for (int k = 0; k < Row::kChunks; ++k) {
              DY_UNROLL
              for (int j = 0; j < Row::kEach; ++j)
                if (Row::number(span, t, k, j) == int(here)) row.v[k][j] -= own;
            }
          }
          row.each([&](T& v) { v = ignored ? T(0) : (v - even) * factor; });
          row.store(dx, span, t, p.aligned);
        });
  }
}

constexpr int64_t kWarpClasses = 1024, kMean = 1, kNone = 0;

struct Forward {
  Shape shape;
  Usual x;
  Code loss;
  int64_t reduction, losses;  // losses: in the workspace
};
void run(const Forward& p, const Pointers& at) {
  Shape s = p.shape;
  const void* x = p.x.read(at.in[0], at.workspace);
  const auto* targets = static_cast<const int64_t*>(at.in[1]);
  void* losses = at_place(at.workspace, p.losses);
  s.aligned = all_aligned(x);
  with_usual(p.x.code, [&]<class E>() {
    using T = typename E::Value;
    if (s.classes <= kWarpClasses)
      launch(forward<E, 32, 128>, {.blocks = blocks_for(s.rows, 32, 128), .threads = 128}, x, targets, losses, at.out[1],
             failures(), op_number(), s);
    else
      launch(forward<E, 256, 256>, {.blocks = blocks_for(s.rows, 1, 1), .threads = 256}, x, targets, losses, at.out[1],
             failures(), op_number(), s);
    if (p.reduction == kNone)
      launch(write_losses<T>, grid_for(s.rows), losses, p.loss, at.out[0], s.rows);
    else
      launch(total<T>, {.blocks = 1, .threads = kTotalThreads}, losses, targets, p.reduction == kMean, p.loss, at.out[0], s);
  });
}
void plan(Call& c) {
  using namespace ops::cross_entropy_loss_op;
  const Operand x = c.operand(arg::input);
  Room room(c.plan);
  Forward& p = c.plan.make<run, Forward>();
  p.shape = {x.lengths[0], x.lengths[1], c[arg::ignore_index], c[arg::label_smoothing]};
  p.x = Usual(x, usual_code(x.format), room);
  p.loss = code_of(c.result().format), p.reduction = c[arg::reduction];
  p.losses = room.take(p.shape.rows * 8);
}

struct Backward {
  Shape shape;
  Usual x, dx;
  Code grad;
  int64_t reduction, share;  // share: in the workspace
};
void run_backward(const Backward& p, const Pointers& at) {
  Shape s = p.shape;
  if (s.rows * s.classes == 0) return;
  const void* x = p.x.read(at.in[1], at.workspace);
  void* dx = p.dx.open(at.out[0], at.workspace);
  const auto* targets = static_cast<const int64_t*>(at.in[2]);
  double* share = p.reduction == kMean ? static_cast<double*>(at_place(at.workspace, p.share)) : nullptr;
  if (share) launch(share_of_row, {.blocks = 1, .threads = kTotalThreads}, targets, share, s);
  s.aligned = all_aligned(x, dx);
  const int step = p.reduction == kNone ? 1 : 0;
  with_usual(p.x.code, [&]<class E>() {
    const void *grad = at.in[0], *lse = at.in[3];
    if (s.classes <= kWarpClasses) {
      launch(backward<E, 32, 128>, {.blocks = blocks_for(s.rows, 32, 128), .threads = 128}, x, targets, lse, grad, p.grad, step,
             share, dx, failures(), op_number(), s);
    } else {
      const int64_t spans = s.classes / (256 * 2 * kChunk) + 1, few = 1024 / s.rows + 1;
      launch(backward<E, 256, 256>, {.blocks = blocks_for(s.rows, 1, 1), .threads = 256, .y = int(spans < few ? spans : few)},
             x, targets, lse, grad, p.grad, step, share, dx, failures(), op_number(), s);
    }
  });
  p.dx.close(at.out[0], at.workspace);
}
void plan_backward(Call& c) {
  using namespace ops::cross_entropy_loss_backward_op;
  const Operand x = c.operand(arg::input);
  const Code code = usual_code(x.format);
  Room room(c.plan);
  Backward& p = c.plan.make<run_backward, Backward>();
  p.shape = {x.lengths[0], x.lengths[1], c[arg::ignore_index], c[arg::label_smoothing]};
  p.x = Usual(x, code, room), p.dx = Usual(c.result(), code, room, true);
  p.grad = code_of(c.operand(arg::grad).format), p.reduction = c[arg::reduction];
  p.share = room.take(8);
}

const Registered loss{"cross_entropy_loss", {.plan = plan, .dense = true}};
const Registered loss_backward{"cross_entropy_loss_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
