// Connectionist temporal classification: the paths through a sequence that spell a target (ops/loss/ctc_paths.h). A block takes
// a sequence step by step, its threads the positions of the extended target, of which the even ones are blanks.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 128;
constexpr double kNever = -__builtin_huge_val();

struct Shape {
  int64_t time, batch, classes, longest, blank;
  DY_DEVICE int64_t width() const { return 2 * longest + 1; }
};
__device__ __forceinline__ double log_sum(double a, double b) {
  const double high = a < b ? b : a, low = a < b ? a : b;
  return low == kNever ? high : high + log1p(exp(low - high));
}

// One of the batch. Lengths and labels that are out of range are reported, and taken for others that are not.
template <class T> struct Sequence {
  const T* log_probs;
  const int64_t* target;
  int64_t step, blank, classes, steps, positions;
  __device__ Sequence(const Shape& s, const T* x, const int64_t* targets, const int64_t* lengths, const int64_t* labels,
                      int64_t n, Failure* failed, int op)
      : log_probs(x + n * s.classes),
        target(targets + n * s.longest),
        step(s.batch * s.classes),
        blank(s.blank),
        classes(s.classes) {
    const int64_t own_steps = lengths[n], own_labels = labels[n];
    const bool steps_fit = uint64_t(own_steps) <= uint64_t(s.time), labels_fit = uint64_t(own_labels) <= uint64_t(s.longest);
    if (!steps_fit && threadIdx.x == 0) fail_index(failed, op, own_steps, s.time + 1);
    if (!labels_fit && threadIdx.x == 0) fail_index(failed, op, own_labels, s.longest + 1);
    steps = steps_fit ? own_steps : 0, positions = labels_fit ? 2 * own_labels + 1 : 1;
    for (int64_t i = threadIdx.x; i < positions / 2; i += kThreads)
      if (uint64_t(target[i]) >= uint64_t(classes)) fail_index(failed, op, target[i], classes);
  }
  __device__ int64_t label(int64_t s) const {
    const int64_t own = s & 1 ? target[s / 2] : blank;
    return uint64_t(own) < uint64_t(classes) ? own : 0;
  }
  __device__ bool skips(int64_t s) const { return s & 1 && s > 1 && label(s) != label(s - 2); }
  __device__ double emitted(int64_t t, int64_t s) const { return double(log_probs[t * step + label(s)]); }
};

// alpha[t, s]: the log-probability of everything up to step t that ends at position s.
template <class T>
__global__ void __launch_bounds__(kThreads) paths(Shape p, const T* x, const int64_t* targets, const int64_t* lengths,
                                                  const int64_t* labels, T* loss, T* alphas, Failure* failed, int op) {
  const int64_t width = p.width();
  for (int64_t n = blockIdx.x; n < p.batch; n += gridDim.x) {
    const Sequence<T> q(p, x, targets, lengths, labels, n, failed, op);
    T* const alpha = alphas + n * p.time * width;
    for (int64_t i = threadIdx.x; i < p.time * width; i += kThreads) {
      const int64_t t = i / width, s = i % width;
      if (t > 0 || s >= q.positions || q.steps == 0) alpha[i] = T(kNever);
      if (t == 0 && s < q.positions && q.steps > 0) alpha[i] = T(s < 2 ? q.emitted(0, s) : kNever);
    }
    for (int64_t t = 1; t < q.steps; ++t) {
      __syncthreads();
      const T* before = alpha + (t - 1) * width;
      for (int64_t s = threadIdx.x; s < q.positions; s += kThreads) {
        double sum = double(before[s]);
        if (s > 0) sum = log_sum(sum, double(before[s - 1]));
        if (q.skips(s)) sum = log_sum(sum, double(before[s - 2]));
        alpha[t * width + s] = T(sum + q.emitted(t, s));
      }
    }
    __syncthreads();
    if (threadIdx.x > 0) continue;
    if (q.steps == 0) {
      loss[n] = q.positions == 1 ? T(0) : T(-kNever);
      continue;
    }
    const T* last = alpha + (q.steps - 1) * width;
    double sum = double(last[q.positions - 1]);
    if (q.positions > 1) sum = log_sum(sum, double(last[q.positions - 2]));
    loss[n] = T(-sum);
  }
}

// What follows a position, walked backwards in time: a path that stands at s at step t has probability alpha beta / p, and the
// loss falls by as much per unit of log_probs there. Positions of one label are added in order by the first of them, blanks by
// all threads.
template <class T>
__global__ void __launch_bounds__(kThreads)
    spread(Shape p, const T* grad, const T* x, const int64_t* targets, const int64_t* lengths, const int64_t* labels,
           const T* losses, const T* alphas, T* gradient, double* memory, Failure* failed, int op) {
  __shared__ double room[kGroupRoom<kThreads>];
  const int64_t width = p.width();
  for (int64_t n = blockIdx.x; n < p.batch; n += gridDim.x) {
    const Sequence<T> q(p, x, targets, lengths, labels, n, failed, op);
    const double g = double(grad[n]), loss = double(losses[n]);
    for (int64_t i = threadIdx.x; i < p.time * p.classes; i += kThreads)
      gradient[(i / p.classes * p.batch + n) * p.classes + i % p.classes] = 0;
    double *beta = memory + n * 4 * width, *following = beta + width, *share = following + width;
    auto* next = reinterpret_cast<int64_t*>(share + width);
    for (int64_t s = 2 * int64_t(threadIdx.x) + 1; s < q.positions; s += 2 * kThreads) {
      int64_t ahead = s - 2, behind = s + 2;
      while (ahead > 0 && q.label(ahead) != q.label(s)) ahead -= 2;
      while (behind < q.positions && q.label(behind) != q.label(s)) behind += 2;
      // Twice the next position of its label, 0 if there is none; and one more if it is not the first.
      next[s] = 2 * (behind < q.positions ? behind : 0) + (ahead > 0);
    }
    if (g == 0) continue;  // a loss that is infinite and was replaced sends none
    for (int64_t t = q.steps; t-- > 0;) {
      __syncthreads();
      double blanks = 0;
      for (int64_t s = threadIdx.x; s < q.positions; s += kThreads) {
        double sum = s + 2 >= q.positions ? 0 : kNever;
        if (t + 1 < q.steps) {
          sum = following[s] + q.emitted(t + 1, s);
          if (s + 1 < q.positions) sum = log_sum(sum, following[s + 1] + q.emitted(t + 1, s + 1));
          if (s + 2 < q.positions && q.skips(s + 2)) sum = log_sum(sum, following[s + 2] + q.emitted(t + 1, s + 2));
        }
        beta[s] = sum;
        share[s] = g * exp(double(alphas[(n * p.time + t) * width + s]) + sum + loss);
        if (s % 2 == 0) blanks += share[s];
      }
      blanks = group_all<kThreads>(blanks, room, Plus());
      T* const at = gradient + t * q.step + n * p.classes;
      if (threadIdx.x == 0) at[q.blank] -= T(blanks);
      __syncthreads();
      for (int64_t s = 2 * int64_t(threadIdx.x) + 1; s < q.positions; s += 2 * kThreads) {
        if (next[s] & 1) continue;
        T sum = at[q.label(s)];
        for (int64_t k = s; k > 0; k = next[k] / 2) sum -= T(share[k]);
        at[q.label(s)] = sum;
      }
      double* const own = beta;
      beta = following, following = own;
    }
  }
}

template <class T> void run_as(const Shape& s, const Pointers& at) {
  auto integers = [&](int i) { return static_cast<const int64_t*>(at.in[i]); };
  launch(paths<T>, {.blocks = blocks_for(s.batch, 1, 1), .threads = kThreads}, s, static_cast<const T*>(at.in[0]), integers(1),
         integers(2), integers(3), static_cast<T*>(at.out[0]), static_cast<T*>(at.out[1]), failures(), op_number());
}
template <class T> void run_backward_as(const Shape& s, const Pointers& at) {
  auto integers = [&](int i) { return static_cast<const int64_t*>(at.in[i]); };
  auto numbers = [&](int i) { return static_cast<const T*>(at.in[i]); };
  launch(spread<T>, {.blocks = blocks_for(s.batch, 1, 1), .threads = kThreads}, s, numbers(0), numbers(1), integers(2),
         integers(3), integers(4), numbers(5), numbers(6), static_cast<T*>(at.out[0]), static_cast<double*>(at.workspace),
         failures(), op_number());
}
Shape shape_of(const Operand& log_probs, const Operand& targets, int64_t blank) {
  return {log_probs.lengths[0], log_probs.lengths[1], log_probs.lengths[2], targets.lengths[1], blank};
}
void plan(Call& c) {
  using namespace ops::ctc_paths_op;
  const Operand x = c.operand(arg::log_probs);
  const Shape s = shape_of(x, c.operand(arg::targets), c[arg::blank]);
  x.itemsize() == 8 ? c.plan.set<run_as<double>>(s) : c.plan.set<run_as<float>>(s);
}
void plan_backward(Call& c) {
  using namespace ops::ctc_paths_backward_op;
  const Operand x = c.operand(arg::log_probs);
  const Shape s = shape_of(x, c.operand(arg::targets), c[arg::blank]);
  c.plan.workspace = s.batch * s.width() * 4 * 8;
  x.itemsize() == 8 ? c.plan.set<run_backward_as<double>>(s) : c.plan.set<run_backward_as<float>>(s);
}

const Registered ctc_paths{"ctc_paths", {.plan = plan, .dense = true}};
const Registered ctc_paths_backward{"ctc_paths_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
