// Sums of a few weighted neighbours along one axis, and the transpose of that map; patches of images as columns, and their sum
// back.
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/along.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

// The maps of ops/resize/resample.h. A first kernel makes a table of them: result i is the sum of weight[i, k] x[begin[i] + k],
// k < count[i].
enum : int64_t { kNearest, kNearestExact, kLinear, kCubic, kAverage, kAdaptive, kSmoothLinear, kSmoothCubic };
struct Map {
  int64_t kind, number[5];
  int64_t in, out, width;
  double step;  // elements per result
  bool align;

  DY_DEVICE bool is_smooth() const { return kind == kSmoothLinear || kind == kSmoothCubic; }
  // How far an antialiasing filter reaches to either side.
  DY_DEVICE double reach() const { return (kind == kSmoothCubic ? 2 : 1) * (step > 1 ? step : 1); }
};
struct Table {
  int64_t *begin, *count;
  double* weight;
};
// Keys' cubic convolution at a distance of 0 to 2.
DY_DEVICE double cubic(double x, double a) {
  return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
DY_DEVICE int64_t within(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }
// `taps` weights from element `first`; those beyond an end count for the element at the end.
__device__ void set_clamped(const Map& m, const Table& t, int64_t i, int64_t first, const double (&weights)[4], int taps) {
  const int64_t begin = within(first, 0, m.in - 1), end = within(first + taps - 1, 0, m.in - 1);
  t.begin[i] = begin, t.count[i] = end - begin + 1;
  for (int k = 0; k < taps; ++k) t.weight[i * m.width + within(first + k, 0, m.in - 1) - begin] += weights[k];
}
__device__ void set_average(const Map& m, const Table& t, int64_t i) {
  const int64_t kernel = m.number[0], from = i * m.number[1] - m.number[2], far = m.in + m.number[3];
  const int64_t to = from + kernel < far ? from + kernel : far;
  const int64_t first = from > 0 ? from : 0, last = to < m.in ? to : m.in, n = last > first ? last - first : 0;
  t.begin[i] = first < m.in ? first : m.in, t.count[i] = n;
  const double value = m.number[4] == 2 ? 1 : 1 / double(m.number[4] == 1 ? to - from : n > 1 ? n : 1);
  for (int64_t k = 0; k < n; ++k) t.weight[i * m.width + k] = value;
}
__device__ void set_smooth(const Map& m, const Table& t, int64_t i) {
  const double center = m.step * (double(i) + 0.5), far = m.reach(), wide = m.step > 1 ? m.step : 1;
  const int64_t left = int64_t(center - far + 0.5), right = int64_t(center + far + 0.5);
  const int64_t from = left > 0 ? left : 0, to = right < m.in ? right : m.in;
  t.begin[i] = from < m.in - 1 ? from : m.in - 1, t.count[i] = within(to - from, 0, m.width);
  double sum = 0, *weight = t.weight + i * m.width;
  for (int64_t k = 0; k < t.count[i]; ++k) {
    const double x = fabs((double(k + from) - center + 0.5) / wide);
    weight[k] = m.kind == kSmoothCubic ? (x < 2 ? cubic(x, -0.5) : 0) : x < 1 ? 1 - x : 0;
    sum += weight[k];
  }
  for (int64_t k = 0; k < t.count[i] && sum != 0; ++k) weight[k] /= sum;
}
__global__ void __launch_bounds__(kThreads) make_table(Map m, Table t) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < m.out; i += int64_t(gridDim.x) * kThreads) {
    for (int64_t k = 0; k < m.width; ++k) t.weight[i * m.width + k] = 0;
    const double at = m.align ? m.step * double(i) : m.step * (double(i) + 0.5) - 0.5;
    double taps[4] = {1, 0, 0, 0};
    switch (m.kind) {
      case kNearest:  // as PyTorch has it, in f32: which of two neighbours is near depends on it
        set_clamped(m, t, i, int64_t(floorf(float(i) * float(m.step))), taps, 1);
        break;
      case kNearestExact:
        set_clamped(m, t, i, int64_t(floor((double(i) + 0.5) * m.step)), taps, 1);
        break;
      case kLinear: {
        const double x = at > 0 ? at : 0, low = floor(x);
        taps[0] = 1 - (x - low), taps[1] = x - low;
        set_clamped(m, t, i, int64_t(low), taps, 2);
        break;
      }
      case kCubic: {
        const double x = at - floor(at), a = -0.75;
        taps[0] = cubic(1 + x, a), taps[1] = cubic(x, a), taps[2] = cubic(1 - x, a), taps[3] = cubic(2 - x, a);
        set_clamped(m, t, i, int64_t(floor(at)) - 1, taps, 4);
        break;
      }
      case kAverage:
        set_average(m, t, i);
        break;
      case kAdaptive:
        t.begin[i] = i * m.in / m.out;
        t.count[i] = ((i + 1) * m.in + m.out - 1) / m.out - t.begin[i];
        for (int64_t k = 0; k < t.count[i]; ++k) t.weight[i * m.width + k] = 1 / double(t.count[i]);
        break;
      default:
        set_smooth(m, t, i);
    }
  }
}

struct Resample {
  Map map;
  Usual x, y;
  int64_t outer, inner;
  int64_t begin, count, weight;  // the table, in the workspace
};
template <class E>
__global__ void __launch_bounds__(kThreads)
    resample(const void* in, void* out, Table t, int64_t n_in, int64_t n_out, int64_t width, int64_t inner, int64_t all) {
  using T = typename E::Value;
  const auto* x = static_cast<const typename E::Stored*>(in);
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all; i += int64_t(gridDim.x) * kThreads) {
    const int64_t column = i % inner, o = i / inner % n_out, outer = i / inner / n_out;
    const auto* from = x + (outer * n_in + t.begin[o]) * inner + column;
    const double* weight = t.weight + o * width;
    T sum = 0;
    for (int64_t k = 0; k < t.count[o]; ++k) {
      const T term = T(weight[k]) * T(E::value(from[k * inner]));
      sum = k ? sum + term : term;
    }
    static_cast<typename E::Stored*>(out)[i] = E::stored(sum);
  }
}
// The results that an element is part of, in their order: where they begin never goes back.
template <class E>
__global__ void __launch_bounds__(kThreads) resample_backward(const void* in, void* out, Table t, int64_t n_in, int64_t n_out,
                                                              int64_t width, int64_t inner, int64_t all) {
  using T = typename E::Value;
  const auto* dy = static_cast<const typename E::Stored*>(in);
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all; i += int64_t(gridDim.x) * kThreads) {
    const int64_t column = i % inner, e = i / inner % n_in, outer = i / inner / n_in;
    int64_t low = 0, high = n_out;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (t.begin[middle] + width <= e)
        low = middle + 1;
      else
        high = middle;
    }
    T sum = 0;
    for (int64_t o = low; o < n_out && t.begin[o] <= e; ++o)
      if (e < t.begin[o] + t.count[o])
        sum += T(t.weight[o * width + e - t.begin[o]]) * T(E::value(dy[(outer * n_out + o) * inner + column]));
    static_cast<typename E::Stored*>(out)[i] = E::stored(sum);
  }
}
template <bool kTransposed> void run(const Resample& p, const Pointers& at) {
  const Map& m = p.map;
  const int64_t all = p.outer * p.inner * (kTransposed ? m.in : m.out);
  if (all == 0) return;
  const Table t{static_cast<int64_t*>(at_place(at.workspace, p.begin)), static_cast<int64_t*>(at_place(at.workspace, p.count)),
                static_cast<double*>(at_place(at.workspace, p.weight))};
  launch(make_table, grid_for(m.out, 1, kThreads), m, t);
  const void* x = p.x.read(at.in[0], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  with_usual(p.x.code, [&]<class E>() {
    launch(kTransposed ? resample_backward<E> : resample<E>, grid_for(all, 1, kThreads), x, y, t, m.in, m.out, m.width, p.inner,
           all);
  });
  p.y.close(at.out[0], at.workspace);
}
template <bool kTransposed> void plan_resample(Call& c) {
  using namespace ops::resample_op;
  const Operand x = c.operand(arg::input);
  const Along along(c.impl(arg::input), c[arg::dim]);
  const Code code = usual_code(x.format);
  Room room(c.plan);
  Resample& p = c.plan.make<run<kTransposed>, Resample>();
  Map& m = p.map = {};
  const IntList map = c[arg::map];
  m.kind = map[0];
  for (size_t k = 1; k < map.size() && k <= 5; ++k) m.number[k - 1] = map[k];
  m.in = kTransposed ? c[arg::size] : along.n, m.out = kTransposed ? along.n : c[arg::size];
  m.align = (m.kind == kLinear || m.kind == kCubic || m.is_smooth()) && m.number[0];
  const double scale = c[arg::scale];
  if (m.out > 0)
    m.step = m.align     ? (m.out > 1 ? double(m.in - 1) / double(m.out - 1) : 0)
             : scale > 0 ? scale
                         : double(m.in) / double(m.out);
  const auto reach = int64_t(m.reach());
  m.width = m.is_smooth()                  ? 2 * (reach + (double(reach) < m.reach() ? 1 : 0)) + 1
            : m.kind == kLinear            ? 2
            : m.kind == kCubic             ? 4
            : m.kind == kAverage           ? m.number[0]
            : m.kind == kAdaptive && m.out ? (m.in + m.out - 1) / m.out + 1
                                           : 1;
  p.x = Usual(x, code, room), p.y = Usual(c.result(), code, room, true);
  p.outer = along.outer, p.inner = along.inner;
  p.begin = room.take(m.out * 8), p.count = room.take(m.out * 8), p.weight = room.take(m.out * m.width * 8);
}

// Patches of images [N, C, H, W] as [N, C kernel, positions].
struct Patches {
  int64_t planes, size[2], kernel[2], stride[2], padding[2], dilation[2], count[2];
};
template <class W> __global__ void __launch_bounds__(kThreads) unfold(const W* x, W* y, int64_t all, Patches p) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all; i += int64_t(gridDim.x) * kThreads) {
    const int64_t column = i % p.count[1], row = i / p.count[1] % p.count[0], rest = i / p.count[1] / p.count[0];
    const int64_t b = rest % p.kernel[1], a = rest / p.kernel[1] % p.kernel[0], plane = rest / p.kernel[1] / p.kernel[0];
    const int64_t h = row * p.stride[0] - p.padding[0] + a * p.dilation[0],
                  w = column * p.stride[1] - p.padding[1] + b * p.dilation[1];
    const bool inside = h >= 0 && h < p.size[0] && w >= 0 && w < p.size[1];
    y[i] = inside ? x[(plane * p.size[0] + h) * p.size[1] + w] : W{};
  }
}
// An element of the images gets what every tap that was taken from it brings, in the order of the taps.
template <class E> __global__ void __launch_bounds__(kThreads) fold(const void* in, void* out, int64_t all, Patches p) {
  using T = typename E::Value;
  const auto* x = static_cast<const typename E::Stored*>(in);
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all; i += int64_t(gridDim.x) * kThreads) {
    const int64_t w = i % p.size[1], h = i / p.size[1] % p.size[0], plane = i / p.size[1] / p.size[0];
    T sum = 0;
    for (int64_t a = 0; a < p.kernel[0]; ++a) {
      const int64_t down = h + p.padding[0] - a * p.dilation[0], row = down / p.stride[0];
      if (down < 0 || down % p.stride[0] || row >= p.count[0]) continue;
      for (int64_t b = 0; b < p.kernel[1]; ++b) {
        const int64_t along = w + p.padding[1] - b * p.dilation[1], column = along / p.stride[1];
        if (along < 0 || along % p.stride[1] || column >= p.count[1]) continue;
        sum += T(E::value(x[(((plane * p.kernel[0] + a) * p.kernel[1] + b) * p.count[0] + row) * p.count[1] + column]));
      }
    }
    static_cast<typename E::Stored*>(out)[i] = E::stored(sum);
  }
}
Patches patches_of(int64_t planes, const int64_t* size, IntList kernel, IntList dilation, IntList padding, IntList stride) {
  Patches p{};
  p.planes = planes;
  for (size_t d = 0; d < 2; ++d) {
    auto of = [&](IntList list) { return list[list.size() == 1 ? 0 : d]; };
    p.size[d] = size[d], p.kernel[d] = of(kernel), p.stride[d] = of(stride), p.padding[d] = of(padding),
    p.dilation[d] = of(dilation);
    p.count[d] = (p.size[d] + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1) / p.stride[d] + 1;
  }
  return p;
}
struct Unfold {
  Patches patches;
  int64_t all;
  int width;
};
void run_unfold(const Unfold& p, const Pointers& at) {
  auto by = [&]<class W>(W) {
    launch(unfold<W>, grid_for(p.all, 1, kThreads), static_cast<const W*>(at.in[0]), static_cast<W*>(at.out[0]), p.all,
           p.patches);
  };
  if (p.all == 0) return;
  with_word(p.width, by);
}
void plan_unfold(Call& c) {
  using namespace ops::unfold_patches_op;
  const Operand x = c.operand(arg::input), y = c.result();
  c.plan.set<run_unfold>(Unfold{patches_of(x.lengths[0] * x.lengths[1], x.lengths + 2, c[arg::kernel_size], c[arg::dilation],
                                           c[arg::padding], c[arg::stride]),
                                y.count, int(x.itemsize())});
}
struct Fold {
  Patches patches;
  Usual x, y;
  int64_t all;
};
void run_fold(const Fold& p, const Pointers& at) {
  if (p.all == 0) return;
  const void* x = p.x.read(at.in[0], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  with_usual(p.x.code, [&]<class E>() { launch(fold<E>, grid_for(p.all, 1, kThreads), x, y, p.all, p.patches); });
  p.y.close(at.out[0], at.workspace);
}
void plan_fold(Call& c) {
  using namespace ops::fold_patches_op;
  const Operand x = c.operand(arg::input), y = c.result();
  const Code code = usual_code(x.format);
  Room room(c.plan);
  Fold& p = c.plan.make<run_fold, Fold>();
  p.patches = patches_of(y.lengths[0] * y.lengths[1], y.lengths + 2, c[arg::kernel_size], c[arg::dilation], c[arg::padding],
                         c[arg::stride]);
  p.x = Usual(x, code, room), p.y = Usual(y, code, room, true), p.all = y.count;
}

const Registered ops[] = {
    {"resample", {.plan = plan_resample<false>, .dense = true}},
    {"resample_backward", {.plan = plan_resample<true>, .dense = true}},
    {"unfold_patches", {.plan = plan_unfold, .dense = true}},
    {"fold_patches", {.plan = plan_fold, .dense = true}},
};

}  // namespace
}  // namespace dyadic::gpu
