// Recurrent layers: at each step a product with the state, then all that is elementwise in one pass. Everything runs in f32, of
// f64 in f64: a state that is rounded at every step forgets.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/products/gemm.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

template <class T> __device__ __forceinline__ T tanh_of(T x) {
  if constexpr (std::is_same_v<T, float>) return tanhf(x);
  return tanh(x);
}
template <class T> __device__ __forceinline__ T sigmoid(T x) { return T(1) / (T(1) + exp_of(-x)); }
template <class T> __device__ __forceinline__ T fma_of(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>) return fmaf(a, b, c);
  return fma(a, b, c);
}
template <class T> __device__ __forceinline__ T or_zero(const T* p, int64_t i) { return p ? p[i] : T(0); }
// f(element of a state [rows, hidden], its row's first in one of [rows, hidden], its column).
template <class F> __device__ __forceinline__ void for_state(int64_t rows, int64_t hidden, F f) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < rows * hidden; i += int64_t(gridDim.x) * kThreads)
    f(i, i / hidden, i % hidden);
}

// Sums of gates [rows, k H] are what the inputs bring and `sums`, what the state does.
template <class T>
__global__ void __launch_bounds__(kThreads)
    rnn_step(int64_t rows, int64_t n, const T* gates, const T* sums, T* state, bool relu) {
  for_state(rows, n, [&](int64_t i, int64_t, int64_t) {
    const T x = gates[i] + sums[i];
    state[i] = relu ? (x > 0 || x != x ? x : T(0)) : tanh_of(x);
  });
}
template <class T>
__global__ void __launch_bounds__(kThreads)
    rnn_step_backward(int64_t rows, int64_t n, const T* state, const T* g_out, const T* d_hidden, T* d_gates, bool relu) {
  for_state(rows, n, [&](int64_t i, int64_t, int64_t) {
    const T y = state[i], d = d_hidden[i] + or_zero(g_out, i);
    d_gates[i] = relu ? (y > 0 ? d : T(0)) : d * (T(1) - y * y);
  });
}
// Input, forget, cell and output gate: cell = f before + i g, hidden = o tanh(cell).
template <class T>
__global__ void __launch_bounds__(kThreads)
    lstm_step(int64_t rows, int64_t n, const T* gates, const T* sums, const T* before, T* kept, T* cell, T* out) {
  for_state(rows, n, [&](int64_t e, int64_t row, int64_t j) {
    const int64_t at = 4 * n * row + j;
    auto sum = [&](int64_t k) { return gates[at + k * n] + sums[at + k * n]; };
    auto keep = [&](int64_t k, T activation) { return kept[at + k * n] = activation; };
    const T fresh = keep(0, sigmoid(sum(0))) * keep(2, tanh_of(sum(2)));
    const T c = fma_of(keep(1, sigmoid(sum(1))), before[e], fresh);
    cell[e] = c;
    out[e] = keep(3, sigmoid(sum(3))) * tanh_of(c);
  });
}
template <class T>
__global__ void __launch_bounds__(kThreads)
    lstm_step_backward(int64_t rows, int64_t n, const T* kept, const T* before, const T* cell, const T* g_out, const T* g_cell,
                       const T* g_kept, const T* d_hidden, T* d_cell, T* d_gates) {
  for_state(rows, n, [&](int64_t e, int64_t row, int64_t j) {
    const int64_t at = 4 * n * row + j;
    auto extra = [&](int64_t k) { return or_zero(g_kept, at + k * n); };
    const T i = kept[at], f = kept[at + n], g = kept[at + 2 * n], o = kept[at + 3 * n], t = tanh_of(cell[e]), one = 1;
    const T dh = d_hidden[e] + or_zero(g_out, e);
    const T dc = d_cell[e] + or_zero(g_cell, e) + dh * o * (one - t * t);
    d_gates[at] = fma_of(dc, g, extra(0)) * i * (one - i);
    d_gates[at + n] = fma_of(dc, before[e], extra(1)) * f * (one - f);
    d_gates[at + 2 * n] = fma_of(dc, i, extra(2)) * (one - g * g);
    d_gates[at + 3 * n] = fma_of(dh, t, extra(3)) * o * (one - o);
    d_cell[e] = dc * f;
  });
}
// Reset r, update z, new n: n = tanh(gates_n + r recurrent_n), hidden = n + z (before - n). kept: r, z, n and recurrent_n.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gru_step(int64_t rows, int64_t n, const T* gates, const T* sums, const T* bias, const T* before, T* kept, T* out) {
  for_state(rows, n, [&](int64_t e, int64_t row, int64_t j) {
    const int64_t at = 3 * n * row + j, to = 4 * n * row + j;
    auto recurrent = [&](int64_t k) { return sums[at + k * n] + or_zero(bias, k * n + j); };
    const T r = sigmoid(gates[at] + recurrent(0)), z = sigmoid(gates[at + n] + recurrent(1)), own = recurrent(2);
    const T fresh = tanh_of(fma_of(r, own, gates[at + 2 * n]));
    kept[to] = r, kept[to + n] = z, kept[to + 2 * n] = fresh, kept[to + 3 * n] = own;
    out[e] = fma_of(z, before[e] - fresh, fresh);
  });
}
// d_hidden becomes z d_hidden, to which what comes by way of d_recurrent, `sent`, is added at the next step.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gru_step_backward(int64_t rows, int64_t n, const T* kept, const T* before, const T* g_out, const T* g_kept, const T* sent,
                      T* d_hidden, T* d_gates, T* d_recurrent) {
  for_state(rows, n, [&](int64_t e, int64_t row, int64_t j) {
    const int64_t at = 4 * n * row + j, to = 3 * n * row + j;
    auto extra = [&](int64_t k) { return or_zero(g_kept, at + k * n); };
    const T r = kept[at], z = kept[at + n], fresh = kept[at + 2 * n], own = kept[at + 3 * n], one = 1;
    const T dh = d_hidden[e] + or_zero(sent, e) + or_zero(g_out, e);
    const T dn = fma_of(dh, one - z, extra(2)) * (one - fresh * fresh);
    const T dr = fma_of(dn, own, extra(0)) * r * (one - r);
    const T dz = fma_of(dh, before[e] - fresh, extra(1)) * z * (one - z);
    d_gates[to] = dr, d_gates[to + n] = dz, d_gates[to + 2 * n] = dn;
    d_recurrent[to] = dr, d_recurrent[to + n] = dz, d_recurrent[to + 2 * n] = fma_of(dn, r, extra(3));
    d_hidden[e] = dh * z;
  });
}
// to = (to, if `adds`) + from; from may be null, for zeros.
template <class T> __global__ void __launch_bounds__(kThreads) add_to(int64_t n, const T* from, T* to, bool adds) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += int64_t(gridDim.x) * kThreads)
    to[i] = (adds ? to[i] : T(0)) + or_zero(from, i);
}

enum class Cell : uint8_t { rnn, lstm, gru };
constexpr int kMostIn = 8, kMostOut = 3;
// The steps of one layer in one direction.
struct Steps {
  Cell cell;
  bool relu, reverse, wide;            // wide: f64
  int64_t count, rows, hidden, state;  // state: fewer than hidden where it is projected
  Usual in[kMostIn], out[kMostOut];
  Gemm recurrent, projection;
  bool projects;
  int64_t sums, values,
      workspace;  // in the workspace: of one step's products, of values before they are projected, and of the products
  int64_t step(int64_t i) const { return reverse ? count - 1 - i : i; }
};

// What a run sees: tensors in the type that is computed in, and their steps.
template <class T> struct Seen {
  const Steps& p;
  const Pointers& at;
  T* in[kMostIn]{};
  T* out[kMostOut]{};

  Seen(const Steps& p, const Pointers& at) : p(p), at(at) {
    for (int i = 0; i < kMostIn; ++i)
      if (p.in[i].defined()) in[i] = static_cast<T*>(const_cast<void*>(p.in[i].read(at.in[i], at.workspace)));
    for (int j = 0; j < kMostOut; ++j)
      if (p.out[j].defined()) out[j] = static_cast<T*>(p.out[j].open(at.out[j], at.workspace));
  }
  void close() const {
    for (int j = 0; j < kMostOut; ++j)
      if (p.out[j].defined()) p.out[j].close(at.out[j], at.workspace);
  }
  T* part(int64_t place) const { return static_cast<T*>(at_place(at.workspace, place)); }
  T* step(T* all, int64_t t, int64_t width) const { return all ? all + t * p.rows * width : nullptr; }
  void product(const Gemm& g, const T* a, const T* b, T* c) const {
    run_gemm(g, {a, b, nullptr, c, at_place(at.workspace, p.workspace)});
  }
  Grid states() const { return grid_for(p.rows * p.hidden, 1, kThreads); }
};

template <class T> void forward(const Steps& p, const Pointers& at) {
  const Seen<T> s(p, at);
  const int64_t n = p.hidden;
  T* const sums = s.part(p.sums);
  const int gate_count = p.cell == Cell::rnn ? 1 : p.cell == Cell::lstm ? 4 : 3;
  const T* h = s.in[p.cell == Cell::gru ? 3 : 2];
  const T* before = s.in[3];  // of an LSTM
  for (int64_t i = 0; i < p.count; ++i) {
    const int64_t t = p.step(i);
    T *gates = s.step(s.in[0], t, gate_count * n), *out = s.step(s.out[0], t, p.state);
    s.product(p.recurrent, h, s.in[1], sums);
    if (p.cell == Cell::rnn) {
      launch(rnn_step<T>, s.states(), p.rows, n, gates, sums, out, p.relu);
    } else if (p.cell == Cell::gru) {
      launch(gru_step<T>, s.states(), p.rows, n, gates, sums, s.in[2], h, s.step(s.out[1], t, 4 * n), out);
    } else {
      T *cell = s.step(s.out[1], t, n), *values = p.projects ? s.part(p.values) : out;
      launch(lstm_step<T>, s.states(), p.rows, n, gates, sums, before, s.step(s.out[2], t, 4 * n), cell, values);
      if (p.projects) s.product(p.projection, values, s.in[4], out);
      before = cell;
    }
    h = out;
  }
  s.close();
}
void run(const Steps& p, const Pointers& at) {
  if (p.rows * p.hidden == 0) return;
  p.wide ? forward<double>(p, at) : forward<float>(p, at);
}

template <class T> void backward_rnn(const Steps& p, const Seen<T>& s) {
  const int64_t n = p.hidden;
  T* const d_h = s.out[1];
  for (int64_t i = p.count - 1; i >= 0; --i) {
    const int64_t t = p.step(i);
    T* d_gates = s.step(s.out[0], t, n);
    launch(rnn_step_backward<T>, s.states(), p.rows, n, s.step(s.in[2], t, n), s.step(s.in[0], t, n), d_h, d_gates, p.relu);
    s.product(p.recurrent, d_gates, s.in[1], d_h);
  }
}
template <class T> void backward_lstm(const Steps& p, const Seen<T>& s) {
  const int64_t n = p.hidden;
  T *const d_h = s.out[1], *const d_c = s.out[2], *const values = s.part(p.values);
  for (int64_t i = p.count - 1; i >= 0; --i) {
    const int64_t t = p.step(i);
    T *before = i ? s.step(s.in[5], p.step(i - 1), n) : s.in[4], *g_out = s.step(s.in[0], t, p.state), *d_hidden = d_h;
    T* d_gates = s.step(s.out[0], t, 4 * n);
    if (p.projects) {
      if (g_out) launch(add_to<T>, grid_for(p.rows * p.state, 1, kThreads), p.rows * p.state, g_out, d_h, true);
      s.product(p.projection, d_h, s.in[7], values);
      g_out = nullptr, d_hidden = values;
    }
    launch(lstm_step_backward<T>, s.states(), p.rows, n, s.step(s.in[6], t, 4 * n), before, s.step(s.in[5], t, n), g_out,
           s.step(s.in[1], t, n), s.step(s.in[2], t, 4 * n), d_hidden, d_c, d_gates);
    s.product(p.recurrent, d_gates, s.in[3], d_h);
  }
}
template <class T> void backward_gru(const Steps& p, const Seen<T>& s) {
  const int64_t n = p.hidden;
  T *const d_h = s.out[2], *const sums = s.part(p.sums);
  const T* sent = nullptr;
  for (int64_t i = p.count - 1; i >= 0; --i) {
    const int64_t t = p.step(i);
    T *before = i ? s.step(s.in[4], p.step(i - 1), n) : s.in[3], *d_recurrent = s.step(s.out[1], t, 3 * n);
    launch(gru_step_backward<T>, s.states(), p.rows, n, s.step(s.in[5], t, 4 * n), before, s.step(s.in[0], t, n),
           s.step(s.in[1], t, 4 * n), sent, d_h, s.step(s.out[0], t, 3 * n), d_recurrent);
    s.product(p.recurrent, d_recurrent, s.in[2], sums);
    sent = sums;
  }
  launch(add_to<T>, s.states(), p.rows * n, sent, d_h, true);
}
template <class T> void backward(const Steps& p, const Pointers& at) {
  const Seen<T> s(p, at);
  const T* nothing = nullptr;
  for (int j = 1; j < kMostOut; ++j)  // gradients of the states that the layer began from; a GRU's second is not one
    if (p.out[j].defined() && !(p.cell == Cell::gru && j == 1))
      launch(add_to<T>, grid_for(p.out[j].count, 1, kThreads), p.out[j].count, nothing, s.out[j], false);
  p.cell == Cell::rnn ? backward_rnn(p, s) : p.cell == Cell::lstm ? backward_lstm(p, s) : backward_gru(p, s);
  s.close();
}
void run_backward(const Steps& p, const Pointers& at) {
  if (p.rows * p.hidden == 0) return;
  p.wide ? backward<double>(p, at) : backward<float>(p, at);
}

// c [rows, n] = a [rows, k] times weight, which is [n, k] or, not `transposed`, [k, n].
Gemm product_of(const Steps& p, int64_t n, int64_t k, bool transposed) {
  Gemm g;
  g.math = p.wide ? Math::f64 : Math::f32;
  g.shape.m = p.rows, g.shape.n = n, g.shape.k = k;
  g.a.code = g.b.code = g.out = p.wide ? Code::f64 : Code::f32;
  g.a.steps.line = k, g.a.steps.k = 1;
  g.b.steps.line = transposed ? k : 1, g.b.steps.k = transposed ? 1 : n;
  g.row = n, g.column = 1;
  plan_gemm(g);
  return g;
}
// Tensors are arguments in order, without lists; `width`: of one step's sums.
void place_all(Call& c, Steps& p, Room& room, int64_t width) {
  const Code code = p.wide ? Code::f64 : Code::f32;
  int k = 0;
  for (int i = 0; i < c.nargs && k < kMostIn; ++i)
    if (c.args[i].kind <= Arg::Kind::tensor) p.in[k++] = Usual(c.operand(i), code, room);
  for (int j = 0; j < c.nout; ++j) p.out[j] = Usual(c.result(j), code, room, true);
  const int64_t bytes = p.wide ? 8 : 4;
  p.sums = room.take(p.rows * width * bytes);
  p.values = room.take(p.projects ? p.rows * p.hidden * bytes : 0);
  p.workspace = room.take(p.recurrent.workspace > p.projection.workspace ? p.recurrent.workspace : p.projection.workspace);
}
template <auto kRun> Steps& begin(Call& c, Cell cell, const Operand& states, int64_t hidden, bool reverse) {
  Steps& p = c.plan.make<kRun, Steps>();
  p = {};
  p.cell = cell, p.reverse = reverse, p.wide = code_of(c.result().format) == Code::f64;
  p.count = states.lengths[0], p.rows = states.lengths[1], p.hidden = p.state = hidden;
  return p;
}

void plan_rnn(Call& c) {
  using namespace ops::rnn_scan_op;
  const Operand gates = c.operand(arg::gates);
  Steps& p = begin<run>(c, Cell::rnn, gates, gates.lengths[2], c[arg::reverse]);
  p.relu = c[arg::relu];
  p.recurrent = product_of(p, p.hidden, p.hidden, true);
  Room room(c.plan);
  place_all(c, p, room, p.hidden);
}
void plan_rnn_backward(Call& c) {
  using namespace ops::rnn_scan_backward_op;
  const Operand output = c.operand(arg::output);
  Steps& p = begin<run_backward>(c, Cell::rnn, output, output.lengths[2], c[arg::reverse]);
  p.relu = c[arg::relu];
  p.recurrent = product_of(p, p.hidden, p.hidden, false);
  Room room(c.plan);
  place_all(c, p, room, 0);
}
void plan_lstm(Call& c) {
  using namespace ops::lstm_scan_op;
  const Operand gates = c.operand(arg::gates);
  Steps& p = begin<run>(c, Cell::lstm, gates, gates.lengths[2] / 4, c[arg::reverse]);
  p.state = c.operand(arg::weight).lengths[1], p.projects = c.has(arg::projection);
  p.recurrent = product_of(p, 4 * p.hidden, p.state, true);
  if (p.projects) p.projection = product_of(p, p.state, p.hidden, true);
  Room room(c.plan);
  place_all(c, p, room, 4 * p.hidden);
}
void plan_lstm_backward(Call& c) {
  using namespace ops::lstm_scan_backward_op;
  const Operand cells = c.operand(arg::cells);
  Steps& p = begin<run_backward>(c, Cell::lstm, cells, cells.lengths[2], c[arg::reverse]);
  p.state = c.operand(arg::weight).lengths[1], p.projects = c.has(arg::projection);
  p.recurrent = product_of(p, p.state, 4 * p.hidden, false);
  if (p.projects) p.projection = product_of(p, p.hidden, p.state, false);
  Room room(c.plan);
  place_all(c, p, room, 0);
}
void plan_gru(Call& c) {
  using namespace ops::gru_scan_op;
  const Operand gates = c.operand(arg::gates);
  Steps& p = begin<run>(c, Cell::gru, gates, gates.lengths[2] / 3, c[arg::reverse]);
  p.recurrent = product_of(p, 3 * p.hidden, p.hidden, true);
  Room room(c.plan);
  place_all(c, p, room, 3 * p.hidden);
}
void plan_gru_backward(Call& c) {
  using namespace ops::gru_scan_backward_op;
  const Operand output = c.operand(arg::output);
  Steps& p = begin<run_backward>(c, Cell::gru, output, output.lengths[2], c[arg::reverse]);
  p.recurrent = product_of(p, p.hidden, 3 * p.hidden, false);
  Room room(c.plan);
  place_all(c, p, room, p.hidden);
}

const Registered ops[] = {
    {"rnn_scan", {.plan = plan_rnn, .dense = true}},   {"rnn_scan_backward", {.plan = plan_rnn_backward, .dense = true}},
    {"lstm_scan", {.plan = plan_lstm, .dense = true}}, {"lstm_scan_backward", {.plan = plan_lstm_backward, .dense = true}},
    {"gru_scan", {.plan = plan_gru, .dense = true}},   {"gru_scan_backward", {.plan = plan_gru_backward, .dense = true}},
};

}  // namespace
}  // namespace dyadic::gpu
