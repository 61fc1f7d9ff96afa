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
Gradient gradient(const TensorImpl& t) {
  const Format& f = *t.dtype.format();
  Gradient g{{.code = code_of(&f), .bytes = uint8_t(f.itemsize())}, t.numel, 0, 0};
  g.runs = (g.n + kRunOf - 1) / kRunOf;
  g.blocks = std::clamp<int64_t>((g.runs + 4 * kThreads - 1) / (4 * kThreads), 1, kMostBlocks);
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

// Sums of squares of many gradients by one kernel, whose blocks each belong to one of them; another adds what the blocks of
// each have found.
constexpr int kMany = 100;  // as parameters of a kernel, which are at most 4 KB
struct Shared {
  int64_t n;
  char* at;
  uint32_t first;  // of its blocks
  Code code;
  uint8_t bytes;
  bool aligned;
};
struct Gradients {
  int count;
  uint32_t blocks;
  Shared of[kMany];
};
static_assert(sizeof(Gradients) <= 4000);
__global__ void __launch_bounds__(kThreads) sum_squares(const __grid_constant__ Gradients all, double* sums) {
  __shared__ double room[kGroupRoom<kThreads>];
  int low = 0;
  for (int high = all.count; high - low > 1;) {
    const int middle = (low + high) / 2;
    (all.of[middle].first <= blockIdx.x ? low : high) = middle;
  }
  const Shared& s = all.of[low];
  const int64_t blocks = (low + 1 < all.count ? all.of[low + 1].first : all.blocks) - s.first;
  const Held held{.at = s.at, .code = s.code, .bytes = s.bytes, .aligned = s.aligned};
  const int64_t step = blocks * kThreads, whole = s.n / kRunOf;
  int64_t run = int64_t(blockIdx.x - s.first) * kThreads + threadIdx.x;
  double sum = 0;
  const auto add = [&](const HeldRun<float, kRunOf>& stored, int n) {
    float x[kRunOf] = {};
    stored.values(held, x);
    DY_UNROLL
    for (int i = 0; i < kRunOf; ++i) sum += i < n ? double(x[i]) * double(x[i]) : 0;
  };
  for (; run + 3 * step < whole; run += 4 * step) {  // loads under way together
    HeldRun<float, kRunOf> stored[4];
    DY_UNROLL
    for (int k = 0; k < 4; ++k) stored[k].read(held, run + k * step, kRunOf);
    DY_UNROLL
    for (int k = 0; k < 4; ++k) add(stored[k], kRunOf);
  }
  for (; run * kRunOf < s.n; run += step) {
    const int n = run < whole ? kRunOf : int(s.n - run * kRunOf);
    HeldRun<float, kRunOf> stored;
    stored.read(held, run, n);
    add(stored, n);
  }
  sum = group_all<kThreads>(sum, room, Plus());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void __launch_bounds__(kThreads) add_sums(const __grid_constant__ Gradients all, const double* sums, double* out) {
  __shared__ double room[kGroupRoom<kThreads>];
  const uint32_t begin = all.of[blockIdx.x].first;
  const uint32_t end = int(blockIdx.x) + 1 < all.count ? all.of[blockIdx.x + 1].first : all.blocks;
  double sum = 0;
  for (uint32_t i = begin + threadIdx.x; i < end; i += kThreads) sum += sums[i];
  sum = group_all<kThreads>(sum, room, Plus());
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
struct Squares {
  int64_t count;
  const Gradient* of;
};
void run_squares(const Squares& p, const Pointers& at) {
  auto* const sums = static_cast<double*>(at.workspace);
  for (int64_t begin = 0; begin < p.count; begin += kMany) {
    Gradients all{.count = int(std::min<int64_t>(kMany, p.count - begin)), .blocks = 0, .of = {}};
    for (int k = 0; k < all.count; ++k) {
      const Gradient g = placed(p.of[begin + k], at.in[begin + k]);
      all.of[k] = {g.n, g.held.at, all.blocks, g.held.code, g.held.bytes, g.held.aligned};
      all.blocks += uint32_t(g.blocks);
    }
    launch(sum_squares, Grid{.blocks = all.blocks, .threads = kThreads}, all, sums);
    launch(add_sums, Grid{.blocks = all.count, .threads = kThreads}, all, static_cast<const double*>(sums),
           static_cast<double*>(at.out[0]) + begin);
  }
}
void plan_squares(Call& c) {
  const auto list = c.tensors(0);
  auto* const all = c.plan.list<Gradient>(list.size());
  int64_t most = 0;  // blocks of a launch
  for (size_t k = 0, blocks = 0; k < list.size(); ++k) {
    all[k] = gradient(*list[k].impl());
    blocks = (k % kMany ? blocks : 0) + size_t(all[k].blocks);
    most = std::max(most, int64_t(blocks));
  }
  c.plan.workspace = most * int64_t(sizeof(double));
  c.plan.set<run_squares>(Squares{int64_t(list.size()), all});
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
void plan_unscale(Call& c) { c.plan.set<run_unscale>(gradient(c.impl(0))); }

// Parts of a p-norm from many tensors, some at a time: out[0] holds what has been added so far, and at last their root.
constexpr int kSome = 128;
struct Sums {
  const double* at[kSome];
  int numbers[kSome];
  int n;
  bool first, last, largest;
  double most, p;
};
__global__ void __launch_bounds__(32) clip(const __grid_constant__ Sums s, double* out) {
  if (threadIdx.x != 0) return;
  double total = s.first ? 0 : out[0];
  for (int k = 0; k < s.n; ++k)
    for (int i = 0; i < s.numbers[k]; ++i) {
      const double part = s.at[k][i];
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
  const int* numbers;
  double most, p;
};
void run_clip(const Clipping& p, const Pointers& at) {
  for (int64_t begin = 0; begin == 0 || begin < p.count; begin += kSome) {
    const int64_t n = std::min<int64_t>(kSome, p.count - begin);
    Sums s{{}, {}, int(n), begin == 0, begin + kSome >= p.count, std::isinf(p.p), p.most, p.p};
    for (int k = 0; k < s.n; ++k) {
      s.at[k] = static_cast<const double*>(at.in[begin + k]);
      s.numbers[k] = p.numbers[begin + k];
    }
    launch(clip, Grid{.threads = 32}, s, static_cast<double*>(at.out[0]));
  }
}
void plan_clip(Call& c) {
  const auto parts = c.tensors(0);
  auto* const numbers = c.plan.list<int>(parts.size());
  for (size_t k = 0; k < parts.size(); ++k) numbers[k] = int(parts[k].impl()->numel);
  c.plan.set<run_clip>(Clipping{int64_t(parts.size()), numbers, c.args[1].real, c.args[2].real});
}

const Registered squares{"grad_squares", {.plan = plan_squares}};
const Registered unscaling{"grad_unscale", {.plan = plan_unscale}};
const Registered clipping{"clip_factor", {.plan = plan_clip}};

}  // namespace
}  // namespace dyadic::gpu
