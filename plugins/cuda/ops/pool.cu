// The largest element of windows over the last dimensions, with its place; what goes back there, and what is taken from there.
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

// Planes of up to three axes, missing ones of size 1 in front. `adaptive`: window i spans floor(i in / out) to ceil((i + 1) in
// / out).
struct Windows {
  int64_t planes = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3]{}, dilation[3] = {1, 1, 1};
  bool adaptive = false;
  Code code;

  DY_DEVICE int64_t elements() const { return in[0] * in[1] * in[2]; }
  DY_DEVICE int64_t windows() const { return out[0] * out[1] * out[2]; }
  // Window i of an axis: its first element, behind its last, and between them.
  DY_DEVICE void span(int d, int64_t i, int64_t& begin, int64_t& end, int64_t& step) const {
    if (adaptive) {
      begin = i * in[d] / out[d], end = ((i + 1) * in[d] + out[d] - 1) / out[d], step = 1;
      return;
    }
    step = dilation[d];
    const int64_t first = i * stride[d] - padding[d], stop = first + kernel[d] * step;
    begin = first < 0 ? first + (-first + step - 1) / step * step : first;
    end = stop < in[d] ? stop : in[d];
  }
};

// NaN counts as largest; the first of equal elements wins.
template <class E> __global__ void __launch_bounds__(kThreads) largest(const void* in, void* out, int64_t* place, Windows p) {
  using T = typename E::Value;
  const int64_t all = p.planes * p.windows();
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all; i += int64_t(gridDim.x) * kThreads) {
    const int64_t plane = i / p.windows(), w = i % p.windows();
    int64_t begin[3], end[3], step[3];
    p.span(0, w / (p.out[1] * p.out[2]), begin[0], end[0], step[0]);
    p.span(1, w / p.out[2] % p.out[1], begin[1], end[1], step[1]);
    p.span(2, w % p.out[2], begin[2], end[2], step[2]);
    const auto* x = static_cast<const typename E::Stored*>(in) + plane * p.elements();
    int64_t best = (begin[0] * p.in[1] + begin[1]) * p.in[2] + begin[2];
    T most = E::value(x[best]);
    for (int64_t a = begin[0]; a < end[0]; a += step[0])
      for (int64_t b = begin[1]; b < end[1]; b += step[1])
        for (int64_t c = begin[2]; c < end[2]; c += step[2]) {
          const int64_t at = (a * p.in[1] + b) * p.in[2] + c;
          const T v = E::value(x[at]);
          if (v > most || (v != v && most == most)) most = v, best = at;
        }
    static_cast<typename E::Stored*>(out)[i] = E::stored(most);
    place[i] = best;
  }
}
struct Pool {
  Windows windows;
  Usual x, y;
};
void run(const Pool& p, const Pointers& at) {
  const int64_t count = p.windows.planes * p.windows.windows();
  if (count == 0) return;
  const void* x = p.x.read(at.in[0], at.workspace);
  void* y = p.y.open(at.out[0], at.workspace);
  with_usual(p.x.code, [&]<class E>() {
    launch(largest<E>, grid_for(count, 1, kThreads), x, y, static_cast<int64_t*>(at.out[1]), p.windows);
  });
  p.y.close(at.out[0], at.workspace);
}
Windows windows_of(const Operand& x, const int64_t* out, int rank) {
  Windows w;
  for (int d = 0; d < x.ndim - rank; ++d) w.planes *= x.lengths[d];
  for (int d = 0; d < rank; ++d) w.in[3 - rank + d] = x.lengths[x.ndim - rank + d], w.out[3 - rank + d] = out[d];
  return w;
}
Pool& plan_pool(Call& c, int rank) {
  const Operand x = c.operand(0), y = c.result();
  const Code code = usual_code(x.format);
  Room room(c.plan);
  Pool& p = c.plan.make<run, Pool>();
  p.windows = windows_of(x, y.lengths + y.ndim - rank, rank);
  p.x = Usual(x, code, room), p.y = Usual(y, code, room, true);
  return p;
}
std::string text_of(IntList sizes) {
  std::string text;
  for (int64_t n : sizes) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}
std::string describe(const TensorImpl& t) { return t.dtype.format()->text + text_of({t.sizes, size_t(t.ndim)}); }
void plan_max(Call& c) {
  using namespace ops::max_pool_op;
  const int rank = int(c[arg::kernel_size].size());
  Windows& w = plan_pool(c, rank).windows;
  for (int d = 0; d < rank; ++d) {
    const auto at = size_t(d);
    const int axis = 3 - rank + d;
    w.kernel[axis] = c[arg::kernel_size][at], w.stride[axis] = c[arg::stride][at];
    w.padding[axis] = c[arg::padding][at], w.dilation[axis] = c[arg::dilation][at];
    for (int64_t i = 0; i < w.out[axis]; ++i) {
      int64_t begin, end, step;
      w.span(axis, i, begin, end, step);
      DY_CHECK(begin < end,
               "max_pool: a window has no elements: input is {}, window {} of dimension {}, kernel_size is {}, padding is {}, "
               "dilation is {}",
               describe(c.impl(arg::input)), i, d, text_of(c[arg::kernel_size]), text_of(c[arg::padding]),
               text_of(c[arg::dilation]));
    }
  }
}
void plan_adaptive(Call& c) {
  plan_pool(c, int(c[ops::adaptive_max_pool_op::arg::output_size].size())).windows.adaptive = true;
}

// dx = 0, then dx[place[i]] += dy[i], in order: the first window that has a place adds what it and those behind it, up to the
// last, bring. Windows of one place are near each other, where they are those of a pooling.
struct Visits {
  uint32_t first, last;  // of a plane's windows
};
__global__ void __launch_bounds__(kThreads) no_visits(Visits* visits, int64_t count) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads)
    visits[i] = {~0u, 0};
}
__global__ void __launch_bounds__(kThreads)
    note_visits(const int64_t* place, Visits* visits, int64_t count, int64_t n, int64_t elements, Failure* failed, int op) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads) {
    if (uint64_t(place[i]) >= uint64_t(elements)) {
      fail_index(failed, op, place[i], elements);
      continue;
    }
    Visits& v = visits[i / n * elements + place[i]];
    atomicMin(&v.first, uint32_t(i % n));
    atomicMax(&v.last, uint32_t(i % n));
  }
}
template <class E>
__global__ void __launch_bounds__(kThreads) add_places(const void* dy, const int64_t* place, const Visits* visits, void* dx,
                                                       int64_t count, int64_t n, int64_t elements) {
  using T = typename E::Value;
  const auto* from = static_cast<const typename E::Stored*>(dy);
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads) {
    const int64_t own = place[i], at = i / n * elements + own;
    if (uint64_t(own) >= uint64_t(elements) || visits[at].first != uint32_t(i % n)) continue;
    const int64_t last = i - i % n + visits[at].last;
    T sum = 0;
    for (int64_t k = i; k <= last; ++k)
      if (place[k] == own) sum += T(E::value(from[k]));
    static_cast<typename E::Stored*>(dx)[at] = E::stored(sum);
  }
}
__global__ void __launch_bounds__(kThreads) fill_zeros(uint8_t* to, int64_t bytes) {
  const int64_t words = bytes / 16, step = int64_t(gridDim.x) * kThreads;
  const int64_t first = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < words; i += step) reinterpret_cast<Word16*>(to)[i] = {};
  for (int64_t i = words * 16 + first; i < bytes; i += step) to[i] = 0;
}
struct PoolBackward {
  Usual dy, dx;
  int64_t planes, windows, elements;
  int64_t visits;  // in the workspace
};
void run_backward(const PoolBackward& p, const Pointers& at) {
  if (p.planes * p.elements == 0) return;
  const void* dy = p.dy.read(at.in[0], at.workspace);
  void* dx = p.dx.open(at.out[0], at.workspace);
  const int64_t count = p.planes * p.windows, bytes = p.planes * p.elements * stored_bytes(p.dx.code);
  launch(fill_zeros, grid_for(bytes, 16, kThreads), static_cast<uint8_t*>(dx), bytes);
  if (count > 0) {
    const auto* place = static_cast<const int64_t*>(at.in[1]);
    auto* visits = static_cast<Visits*>(at_place(at.workspace, p.visits));
    const int64_t all = p.planes * p.elements;
    launch(no_visits, grid_for(all, 1, kThreads), visits, all);
    launch(note_visits, grid_for(count, 1, kThreads), place, visits, count, p.windows, p.elements, failures(), op_number());
    with_usual(p.dy.code, [&]<class E>() {
      launch(add_places<E>, grid_for(count, 1, kThreads), dy, place, visits, dx, count, p.windows, p.elements);
    });
  }
  p.dx.close(at.out[0], at.workspace);
}
void plan_backward(Call& c) {
  using namespace ops::max_pool_backward_op;
  const Operand dy = c.operand(arg::grad), dx = c.result();
  const Code code = usual_code(dy.format);
  const Windows w = windows_of(dx, dy.lengths + dy.ndim - int(c[arg::size].size()), int(c[arg::size].size()));
  Room room(c.plan);
  PoolBackward& p = c.plan.make<run_backward, PoolBackward>();
  p.dy = Usual(dy, code, room), p.dx = Usual(dx, code, room, true);
  p.planes = w.planes, p.windows = w.windows(), p.elements = w.elements();
  p.visits = room.take(p.planes * p.elements * int64_t(sizeof(Visits)));
}

template <class W>
__global__ void __launch_bounds__(kThreads)
    take(const W* x, const int64_t* place, W* y, int64_t count, int64_t out, int64_t in, Failure* failed, int op) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads) {
    if (uint64_t(place[i]) < uint64_t(in))
      y[i] = x[i / out * in + place[i]];
    else
      fail_index(failed, op, place[i], in);
  }
}
struct Take {
  int64_t count, in, out;  // in, out: of a plane
  int width;
};
void run_take(const Take& p, const Pointers& at) {
  auto by = [&]<class W>(W) {
    launch(take<W>, grid_for(p.count, 1, kThreads), static_cast<const W*>(at.in[0]), static_cast<const int64_t*>(at.in[1]),
           static_cast<W*>(at.out[0]), p.count, p.out, p.in, failures(), op_number());
  };
  if (p.count == 0) return;
  with_word(p.width, by);
}
void plan_take(Call& c) {
  using namespace ops::max_pool_take_op;
  const Operand x = c.operand(arg::input), places = c.operand(arg::indices);
  const int rank = int(c[arg::rank]);
  Take p{places.count, 1, 1, int(x.itemsize())};
  for (int d = x.ndim - rank; d < x.ndim; ++d) p.in *= x.lengths[d], p.out *= places.lengths[d];
  c.plan.set<run_take>(p);
}

const Registered ops[] = {
    {"max_pool", {.plan = plan_max, .dense = true}},
    {"adaptive_max_pool", {.plan = plan_adaptive, .dense = true}},
    {"max_pool_backward", {.plan = plan_backward, .dense = true}},
    {"max_pool_take", {.plan = plan_take, .dense = true}},
};

}  // namespace
}  // namespace dyadic::gpu
