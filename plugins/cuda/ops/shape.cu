// Ops that move elements, or parts of tensors, to other places.
#include <algorithm>

#include "base/check.h"
#include "formats/bits.h"
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

void zero_fill(const Operand& target, Filling* f) {
  constexpr unsigned char zero[16] = {};
  *f = plan_filling(target, zero);
}
int64_t wrapped(int64_t dim, int64_t n) { return dim < 0 ? dim + n : dim; }
// The rules have been checked: what is here only counts.
int64_t clamped(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

// A tensor's part: dimensions and the first element.
struct Part {
  Operand operand;
  int64_t first = 0;

  explicit Part(const Operand& whole) : operand(whole) {}
  void narrow(int64_t d, int64_t start, int64_t n, int64_t step = 1) {
    first += start * operand.steps[d];
    operand.lengths[d] = n, operand.steps[d] *= step;
    count();
  }
  void drop(int64_t d) {
    for (int k = int(d); k + 1 < operand.ndim; ++k)
      operand.lengths[k] = operand.lengths[k + 1], operand.steps[k] = operand.steps[k + 1];
    --operand.ndim;
    count();
  }
  void add(int64_t n, int64_t step) {
    operand.lengths[operand.ndim] = n, operand.steps[operand.ndim++] = step;
    count();
  }
  void count() {
    operand.count = 1, operand.dense = false;
    for (int d = 0; d < operand.ndim; ++d) operand.count *= operand.lengths[d];
  }
};
Part sliced(const Operand& whole, int64_t dim, const Arg& start, const Arg& end, int64_t step) {
  Part p(whole);
  const int64_t d = wrapped(dim, whole.ndim), n = whole.lengths[d];
  const bool up = step > 0;
  const int64_t low = up ? 0 : -1, high = low + n;  // downwards a range ends before the first entry
  const auto bound = [&](const Arg& a, int64_t none) {
    return a.kind == Arg::Kind::none ? none : clamped(a.integer < 0 ? a.integer + n : a.integer, low, high);
  };
  const int64_t from = bound(start, up ? low : high), to = bound(end, up ? high : low);
  const int64_t way = up ? to - from : from - to, stride = up ? step : -step;
  p.narrow(d, from, way > 0 ? (way - 1) / stride + 1 : 0, step);
  return p;
}

// A copy of one operand into a part of the result.
struct Piece {
  Transfer transfer;
  int64_t to = 0, from = 0;  // bytes from the first elements
  int input = 0;
  void run(const Pointers& at) const {
    transfer.run(static_cast<char*>(at.out[0]) + to, static_cast<char*>(at.in[input]) + from);
  }
};
Piece piece(const Part& to, const Operand& from, int input, int64_t from_first = 0) {
  return {plan_transfer(to.operand, from), to.first * to.operand.itemsize(), from_first * from.itemsize(), input};
}

// cat

bool is_nothing(const Operand& o) { return o.ndim == 1 && o.lengths[0] == 0; }  // [0] joins anything
struct Joined {
  struct One {
    Piece piece;
    bool blocked;  // decoded where it goes
    Operand to, from;
  };
  int64_t count;
  const One* list;
};
void run_cat(const Joined& p, const Pointers& at) {
  for (int64_t k = 0; k < p.count; ++k) {
    const Joined::One& one = p.list[k];
    if (one.blocked)
      assign(Array(one.to, static_cast<char*>(at.out[0]) + one.piece.to), at.input(one.piece.input, one.from), {}, nullptr);
    else
      one.piece.run(at);
  }
}
void plan_cat(Call& c) {
  namespace arg = ops::cat_op::arg;
  const auto list = c[arg::tensors];
  const Operand out = c.result();
  const int64_t dim = wrapped(c[arg::dim], out.ndim);
  Joined& p = c.plan.make<run_cat, Joined>();
  auto* all = c.plan.list<Joined::One>(list.size());
  p = {0, all};
  int64_t begin = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    const Operand t(*list[k].impl());
    if (is_nothing(t)) continue;
    Part part(out);
    const int64_t length = list[k].impl()->sizes[dim];
    part.narrow(dim, begin, length);
    const bool blocked = t.format->is_blocked();
    DY_CHECK_AS(NoKernel, !blocked || assign_room(part.operand, t) == 0,
                "cat: there is no code for it on cuda from {} to {}; within torch.cuda.cpu_fallback() it runs on the host",
                t.format->text, out.format->text);
    Joined::One& one = all[p.count++];
    if (!blocked) one.piece = piece(part, t, int(k));
    one.piece.to = part.first * out.itemsize(), one.piece.input = int(k);
    one.blocked = blocked, one.to = part.operand, one.from = t;
    begin += length;
  }
}

// What is one thing everywhere, and another tensor in a part.

struct Framed {
  Filling rest;
  Piece inside;
};
void run_framed(const Framed& p, const Pointers& at) {
  p.rest.run(at.out[0]);
  p.inside.run(at);
}
void plan_constant_pad(Call& c) {
  namespace arg = ops::constant_pad_nd_op::arg;
  const Operand out = c.result(), self = c.operand(arg::self);
  const IntList pad = c[arg::pad];
  Part to(out), from(self);
  for (int d = 0; d < self.ndim; ++d) {
    const auto k = size_t(2 * (self.ndim - 1 - d));
    if (k >= pad.size()) continue;
    const int64_t before = pad[k], after = pad[k + 1];
    const auto cut = [&](Part& p, int64_t low, int64_t high) { p.narrow(d, low, p.operand.lengths[d] - low - high); };
    cut(to, std::max<int64_t>(before, 0), std::max<int64_t>(after, 0));
    cut(from, std::max<int64_t>(-before, 0), std::max<int64_t>(-after, 0));
  }
  alignas(16) char value[16];
  encode_number(c[arg::value], out.format, value);
  c.plan.set<run_framed>(Framed{plan_filling(out, value), piece(to, from.operand, 0, from.first)});
}
void plan_slice_backward(Call& c) {
  namespace arg = ops::slice_backward_op::arg;
  const Operand out = c.result();
  const Part to = sliced(out, c[arg::dim], c.arg(arg::start), c.arg(arg::end), c[arg::step]);
  Framed& p = c.plan.make<run_framed, Framed>();
  zero_fill(out, &p.rest);
  p.inside = piece(to, c.operand(arg::self), 0);
}

// self, but a part of it is src.
struct Written {
  Piece all, part;
};
void run_written(const Written& p, const Pointers& at) {
  if (at.in[0] != at.out[0]) p.all.run(at);
  p.part.run(at);
}
void plan_written(Call& c, const Part& part) {
  c.plan.set<run_written>(Written{piece(Part(c.result()), c.operand(0), 0), piece(part, c.operand(1), 1)});
}
void plan_select_scatter(Call& c) {
  namespace arg = ops::select_scatter_op::arg;
  Part part(c.result());
  const int64_t d = wrapped(c[arg::dim], part.operand.ndim);
  part.narrow(d, wrapped(c[arg::index], part.operand.lengths[d]), 1);
  part.drop(d);
  plan_written(c, part);
}
void plan_slice_scatter(Call& c) {
  namespace arg = ops::slice_scatter_op::arg;
  plan_written(c, sliced(c.result(), c[arg::dim], c.arg(arg::start), c.arg(arg::end), c[arg::step]));
}
void plan_diagonal_scatter(Call& c) {
  namespace arg = ops::diagonal_scatter_op::arg;
  Part part(c.result());
  const Operand out = part.operand;
  const int64_t a = wrapped(c[arg::dim1], out.ndim), b = wrapped(c[arg::dim2], out.ndim), offset = c[arg::offset];
  const int64_t rows = out.lengths[a], cols = out.lengths[b];
  const int64_t n = std::max<int64_t>(0, offset < 0 ? std::min(rows + offset, cols) : std::min(rows, cols - offset));
  if (n > 0) part.first = offset < 0 ? -offset * out.steps[a] : offset * out.steps[b];
  part.drop(std::max(a, b));
  part.drop(std::min(a, b));
  part.add(n, out.steps[a] + out.steps[b]);
  plan_written(c, part);
}
void plan_strided_scatter(Call& c) {
  namespace arg = ops::strided_scatter_op::arg;
  Part part(c.result());
  const IntList sizes = c[arg::size], steps = c[arg::stride];
  part.operand.ndim = 0;
  part.first = c[arg::offset];
  part.count();
  for (size_t d = 0; d < sizes.size(); ++d) part.add(sizes[d], steps[d]);
  plan_written(c, part);
}

// flip

void run_piece(const Piece& p, const Pointers& at) { p.run(at); }
void plan_flip(Call& c) {
  namespace arg = ops::flip_op::arg;
  Part back(c.operand(arg::self));
  for (const int64_t dim : c[arg::dims]) {
    if (back.operand.ndim == 0) break;  // 0-d: its only dimension is of one
    const int64_t d = wrapped(dim, back.operand.ndim), n = back.operand.lengths[d];
    back.narrow(d, n - 1, n, -1);
  }
  const Operand out = c.result();
  if (out.count) c.plan.set<run_piece>(piece(Part(out), back.operand, 0, back.first));
}

// pad_edges: each dimension's padding repeats entries of the dimension.

enum class Edge : uint8_t { reflect, circular, replicate };
struct Padding {
  Edge edge;
  int ndim;
  int width;
  int64_t count;
  Divisor size[kMaxDims];  // of the result
  int64_t length[kMaxDims], before[kMaxDims], from_step[kMaxDims], to_step[kMaxDims];
};
DY_DEVICE int64_t edge_source(Edge edge, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (edge == Edge::replicate) return i < 0 ? 0 : n - 1;
  if (edge == Edge::circular) return i < 0 ? i + n : i - n;
  return i < 0 ? -i : 2 * n - 2 - i;
}
template <class W> __global__ void __launch_bounds__(kThreads) pad_elements(Padding p, const W* from, W* to) {
  for (int64_t i = first_thread(); i < p.count; i += all_threads()) {
    int64_t rest = i, source = 0, target = 0;
    for (int d = p.ndim - 1; d >= 0; --d) {
      const int64_t next = p.size[d].divide(rest), here = rest - next * p.size[d].by;
      source += edge_source(p.edge, here - p.before[d], p.length[d]) * p.from_step[d];
      target += here * p.to_step[d];
      rest = next;
    }
    to[target] = from[source];
  }
}
void run_padding(const Padding& p, const Pointers& at) {
  if (p.count == 0) return;
  with_word(p.width, [&](auto word) {
    using W = decltype(word);
    launch(pad_elements<W>, grid_for(p.count, 1, kThreads), p, static_cast<const W*>(at.in[0]), static_cast<W*>(at.out[0]));
  });
}
void plan_pad_edges(Call& c) {
  namespace arg = ops::pad_edges_op::arg;
  const Operand x = c.operand(arg::self), out = c.result();
  const IntList pad = c[arg::pad];
  const auto mode = c[arg::mode];
  Padding& p = c.plan.make<run_padding, Padding>();
  p.edge = mode == "reflect" ? Edge::reflect : mode == "circular" ? Edge::circular : Edge::replicate;
  p.ndim = out.ndim, p.width = int(out.itemsize()), p.count = out.count;
  for (int d = 0; d < out.ndim; ++d) {
    const auto k = size_t(2 * (out.ndim - 1 - d));
    p.size[d] = Divisor(out.lengths[d]);
    p.length[d] = x.lengths[d], p.from_step[d] = x.steps[d], p.to_step[d] = out.steps[d];
    p.before[d] = k < pad.size() ? pad[k] : 0;
  }
}

// triangle

struct Triangle {
  int64_t count, diagonal;
  Divisor rows, cols;
  int width;
  bool lower;
};
template <class W> __global__ void __launch_bounds__(kThreads) keep_triangle(Triangle p, const W* from, W* to) {
  for (int64_t i = first_thread(); i < p.count; i += all_threads()) {
    const int64_t line = p.cols.divide(i), row = line - p.rows.divide(line) * p.rows.by;
    const int64_t above = i - line * p.cols.by - row - p.diagonal;
    to[i] = (p.lower ? above <= 0 : above >= 0) ? from[i] : W{};
  }
}
void run_triangle(const Triangle& p, const Pointers& at) {
  if (p.count == 0) return;
  with_word(p.width, [&](auto word) {
    using W = decltype(word);
    launch(keep_triangle<W>, grid_for(p.count, 1, kThreads), p, static_cast<const W*>(at.in[0]), static_cast<W*>(at.out[0]));
  });
}
void plan_triangle(Call& c) {
  namespace arg = ops::triangle_op::arg;
  const Operand x = c.operand(arg::self);
  const int64_t rows = x.size(-2), cols = x.size(-1);
  c.plan.set<run_triangle>(Triangle{x.count, clamped(c[arg::diagonal], -rows - 1, cols + 1), Divisor(rows), Divisor(cols),
                                    int(x.itemsize()), c[arg::lower]});
}

// round_tf32: 13 bits of an f32's fraction are dropped, to nearest even.

struct Tf32 {
  Piece copy;
  Code code;
  int64_t count;
};
DY_DEVICE float tf32_nearest(float x) {
  const uint32_t u = float_bits(x), rounded = (u + 0xfffu + (u >> 13 & 1u)) & ~0x1fffu;
  return bits_float((u & kAbsMask) >= kInfBits ? u : rounded);
}
template <class T> __global__ void __launch_bounds__(kThreads) round_elements(T* x, int64_t n) {
  for (int64_t i = first_thread(); i < n; i += all_threads()) x[i] = T(tf32_nearest(narrowed(x[i])));
}
void run_tf32(const Tf32& p, const Pointers& at) {
  p.copy.run(at);
  if (p.count == 0) return;
  if (p.code == Code::f32)
    launch(round_elements<float>, grid_for(p.count, 1, kThreads), static_cast<float*>(at.out[0]), p.count);
  if (p.code == Code::f64)
    launch(round_elements<double>, grid_for(p.count, 1, kThreads), static_cast<double*>(at.out[0]), p.count);
}
void plan_tf32(Call& c) {
  const Operand out = c.result();
  c.plan.set<run_tf32>(Tf32{piece(Part(out), c.operand(0), 0), code_of(out.format), out.count});
}

const Registered cat{"cat", {.plan = plan_cat, .blocked = kAllInputs}};
const Registered constant_pad{"constant_pad_nd", {.plan = plan_constant_pad}};
const Registered slice_backward{"slice_backward", {.plan = plan_slice_backward}};
const Registered select_scatter{"select_scatter", {.plan = plan_select_scatter}};
const Registered slice_scatter{"slice_scatter", {.plan = plan_slice_scatter}};
const Registered diagonal_scatter{"diagonal_scatter", {.plan = plan_diagonal_scatter}};
const Registered strided_scatter{"strided_scatter", {.plan = plan_strided_scatter, .dense = true}};
const Registered flip{"flip", {.plan = plan_flip}};
const Registered pad_edges{"pad_edges", {.plan = plan_pad_edges}};
const Registered triangle{"triangle", {.plan = plan_triangle, .dense = true}};
const Registered round_tf32{"round_tf32", {.plan = plan_tf32}};

}  // namespace
}  // namespace dyadic::gpu
