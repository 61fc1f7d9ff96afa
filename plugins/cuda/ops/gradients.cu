// What is done to gradients between backward and a step (optim/grad_ops.cpp): the sum of squares, unscaling with a look for
// what is not finite, and the factor that clips a norm.
#include <algorithm>
#include <cmath>

#include "plugins/cuda/kernel.h"
#include "plugins/cuda/optim/held.h"
#include "plugins/cuda/rows/collectives.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256, kRunOf = kStepRun<float>;
constexpr int64_t kMostBlocks = 1024;  // whatever the device: sums are added in one order

struct Gradient {
  Held held;
  int64_t n, runs, blocks;
};
Gradient gradient(const Call& c) {
  const Format& f = *c.impl(0).dtype.format();
  Gradient g{{.code = code_of(&f), .bytes = uint8_t(f.itemsize())}, c.impl(0).numel, 0, 0};
  g.runs = (g.n + kRunOf - 1) / kRunOf;
  g.blocks = std::clamp<int64_t>((g.runs + kThreads - 1) / kThreads, 1, kMostBlocks);
  return g;
}
Gradient placed(Gradient g, void* at) {
  g.held.at = static_cast<char*>(at);
  g.held.aligned = is_aligned(at, kRunOf * g.held.bytes);
  return g;
}
// f(run, how many elements, their values).
template <class F> __device__ __forceinline__ void for_runs(const Gradient& g, F f) {
  for (int64_t run = int64_t(blockIdx.x) * kThreads + threadIdx.x; run < g.runs; run += int64_t(gridDim.x) * kThreads) {
    const int64_t left = g.n - run * kRunOf;
    const int n = left < kRunOf ? int(left) : kRunOf;
    float x[kRunOf] = {};
    HeldRun<float, kRunOf> stored;
    stored.read(g.held, run, n);
    stored.values(g.held, x);
    f(run, n, x);
  }
}

__global__ void __launch_bounds__(kThreads) sum_squares(const __grid_constant__ Gradient g, double* sums) {
  __shared__ double room[kGroupRoom<kThreads>];
  double sum = 0;
  for_runs(g, [&](int64_t, int n, const float(&x)[kRunOf]) {
    DY_UNROLL
    for (int i = 0; i < kRunOf; ++i) sum += i < n ? double(x[i]) * double(x[i]) : 0;
  });
  sum = group_all<kThreads>(sum, room, Plus());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void __launch_bounds__(kThreads) add_sums(const double* sums, int64_t n, double* out) {
  __shared__ double room[kGroupRoom<kThreads>];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += sums[i];
  sum = group_all<kThreads>(sum, room, Plus());
  if (threadIdx.x == 0) *out = sum;
}
void run_squares(const Gradient& p, const Pointers& at) {
  auto* sums = static_cast<double*>(at.workspace);
  launch(sum_squares, Grid{.blocks = p.blocks, .threads = kThreads}, placed(p, at.in[0]), sums);
  launch(add_sums, Grid{.threads = kThreads}, static_cast<const double*>(sums), p.blocks, static_cast<double*>(at.out[0]));
}
void plan_squares(Call& c) {
  const Gradient g = gradient(c);
  c.plan.workspace = g.blocks * int64_t(sizeof(double));
  c.plan.set<run_squares>(g);
}

__global__ void __launch_bounds__(32) set_number(double* out, double value) {
  if (threadIdx.x == 0) *out = value;
}
__global__ void __launch_bounds__(kThreads) unscale(const __grid_constant__ Gradient g, float factor, double* finite) {
  int wrong = 0;
  for_runs(g, [&](int64_t run, int n, float(&x)[kRunOf]) {
    DY_UNROLL
    for (int i = 0; i < kRunOf; ++i) {
      x[i] *= factor;
      wrong |= i < n && (float_bits(x[i]) & kAbsMask) >= kInfBits;
    }
    HeldRun<float, kRunOf>::write(g.held, run, n, x);
  });
  if (__syncthreads_or(wrong) && threadIdx.x == 0) *finite = 0;  // the same, whoever writes it
}
void run_unscale(const Gradient& p, const Pointers& at) {
  auto* out = static_cast<double*>(at.out[0]);
  launch(set_number, Grid{.threads = 32}, out, 1.0);
  launch(unscale, Grid{.blocks = p.blocks, .threads = kThreads}, placed(p, at.in[0]),
         float(*static_cast<const double*>(at.in[1])), out);
}
void plan_unscale(Call& c) { c.plan.set<run_unscale>(gradient(c)); }

// Parts of a p-norm from many tensors, some at a time: out[0] holds what has been added so far, and at last their root.
constexpr int kSome = 128;
struct Sums {
  const double* at[kSome];
  int n;
  bool first, last, largest;
  double most, p;
};
__global__ void __launch_bounds__(32) clip(const __grid_constant__ Sums s, double* out) {
  if (threadIdx.x != 0) return;
  double total = s.first ? 0 : out[0];
  for (int k = 0; k < s.n; ++k) {
    const double part = *s.at[k];
    if (s.largest)
      total = part > total || part != part ? part : total;
    else
      total += s.p == 0 ? part != 0 : part;
  }
  if (!s.last) return void(out[0] = total);
  const double norm = s.p == 2 ? sqrt(total) : s.p == 0 || s.largest ? total : pow(total, 1 / s.p);
  const double factor = s.most / (norm + 1e-6);
  out[0] = norm, out[1] = factor >= 1 ? 1 : factor;
}
struct Clipping {
  int64_t count;
  double most, p;
};
void run_clip(const Clipping& p, const Pointers& at) {
  for (int64_t begin = 0; begin == 0 || begin < p.count; begin += kSome) {
    const int64_t n = std::min<int64_t>(kSome, p.count - begin);
    Sums s{{}, int(n), begin == 0, begin + kSome >= p.count, std::isinf(p.p), p.most, p.p};
    for (int k = 0; k < s.n; ++k) s.at[k] = static_cast<const double*>(at.in[begin + k]);
    launch(clip, Grid{.threads = 32}, s, static_cast<double*>(at.out[0]));
  }
}
void plan_clip(Call& c) { c.plan.set<run_clip>(Clipping{int64_t(c.tensors(0).size()), c.args[1].real, c.args[2].real}); }

const Registered squares{"grad_squares", {.plan = plan_squares}};
const Registered unscaling{"grad_unscale", {.plan = plan_unscale}};
const Registered clipping{"clip_factor", {.plan = plan_clip}};

}  // namespace
}  // namespace dyadic::gpu
