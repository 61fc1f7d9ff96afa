#include "corridor/batching.h"
#include "ops/rnn/batched.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::lstm_scan_op {
namespace {

Steps steps_of(const Call& c) {
  return check_scan<4>("lstm_scan", c[arg::gates], c[arg::weight], &c[arg::h], &c[arg::c], c[arg::reverse],
                       c.has(arg::projection) ? &c[arg::projection] : nullptr);
}
void infer(Call& c) {
  const Steps s = steps_of(c);
  c.nout = 3;
  set_spec(c.spec[0], c[arg::gates], {s.count, s.rows, s.state});
  set_spec(c.spec[1], c[arg::gates], {s.count, s.rows, s.hidden});
  set_spec(c.spec[2], c[arg::gates], {s.count, s.rows, 4 * s.hidden});
}
struct Parameters {
  Steps steps;
  Wide wide;
  TransposedProduct recurrent;
  bool projects;
  int64_t hidden = 0;  // in workspace: one step's, before it is projected
  TransposedProduct projected;
};
void run(const Parameters& p, const Pointers& at) {
  const Steps& s = p.steps;
  const Wide& w = p.wide;
  if (s.rows * s.hidden == 0) return;
  w.load(at);
  p.recurrent.load(w.in(1, at), at);
  if (p.projects) p.projected.load(w.in(4, at), at);
  w.assign(2, 0, at);
  char* hidden = static_cast<char*>(at.workspace) + p.hidden;
  const WideArray output = w.out(0, at), cells = w.out(1, at), gates = w.out(2, at);
  const void *h = w.in(2, at).at, *cell = w.in(3, at).at;
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t t = s.step(i);
    char* state = output.step(t);
    p.recurrent.run(h, gates.step(t), at);
    rnn_kernel().lstm({s.rows, s.hidden, gates.step(t), cell, cells.step(t), p.projects ? hidden : state}, w.type == f64);
    if (p.projects) p.projected.run(hidden, state, at);
    h = state;
    cell = cells.step(t);
  }
  w.store(at);
}
void plan(Call& c) {
  Parameters& p = c.plan.make<run, Parameters>();
  const Steps s = p.steps = steps_of(c);
  Wide& w = p.wide = Wide(c);
  p.recurrent = {w, s.rows, 4 * s.hidden, s.state, true};
  p.projects = c.has(arg::projection);
  if (p.projects) {
    p.hidden = w.take(s.rows * s.hidden * w.type.itemsize());
    p.projected = {w, s.rows, s.state, s.hidden, false};
  }
  c.plan.workspace = w.bytes();
}

struct StepGradients {
  std::vector<Tensor> gates;
  Tensor h, c;
};
// The same as lstm_scan_backward, in ops.
StepGradients recorded(const Grad& g, const Tensor& c0) {
  const Tensor cells = g.out(1), activations = g.out(2), weight = g.in(arg::weight);
  const Steps s{cells.size(0), cells.size(1), cells.size(2), g[arg::reverse], weight.size(1)};
  auto nothing = [&](int64_t width) { return zeros({s.rows, width}, cells.dtype(), cells.device()); };
  StepGradients r{std::vector<Tensor>(size_t(s.count)), nothing(s.state), nothing(s.hidden)};
  for (int64_t k = s.count - 1; k >= 0; --k) {
    const int64_t t = s.step(k);
    auto gate = [&](const Tensor& all, int64_t i) { return gate_of(all, t, i, s.hidden); };
    const Tensor i = gate(activations, 0), f = gate(activations, 1), c = gate(activations, 2), o = gate(activations, 3);
    const Tensor before = before_step(cells, c0, s, k), level = tanh(at_step(cells, t)), state = plus(r.h, at_step(g.g(0), t));
    const Tensor dh = g.has(arg::projection) ? matmul(state, g.in(arg::projection)) : state;
    const Tensor dc = add(plus(r.c, at_step(g.g(1), t)), mul(mul(dh, o), sub(1, square(level))));
    auto through = [&](const Tensor& d, int64_t gate_at, const Tensor& y) {
      return mul(plus(d, gate(g.g(2), gate_at)), mul(y, sub(1, y)));
    };
    const Tensor parts[] = {through(mul(dc, c), 0, i), through(mul(dc, before), 1, f),
                            mul(plus(mul(dc, i), gate(g.g(2), 2)), sub(1, square(c))), through(mul(dh, level), 3, o)};
    r.gates[size_t(t)] = cat(parts, -1);
    r.h = matmul(r.gates[size_t(t)], weight);
    r.c = mul(dc, f);
  }
  return r;
}
// A state's gradient is the result's and what the step after it sends back; the projection's is that times the hidden values.
Tensor projection_gradient(const Grad& g, const Tensor& d_gates) {
  const Tensor activations = g.out(2);
  const int64_t hidden = activations.size(2) / 4;
  const Tensor sent = matmul(d_gates, g.in(arg::weight).contiguous()), last = zeros_like(select(sent, 0, 0).detach());
  const Tensor d_states = plus(states_before(last, sent, !g[arg::reverse]), g.g(0));
  const Tensor values = mul(narrow(activations, -1, 3 * hidden, hidden), tanh(g.out(1)));
  return matmul(step_rows(d_states).t(), step_rows(values));
}

void backward(Grad& g) {
  const Tensor c0 = g.in(arg::c);
  Tensor d_gates, d_h, d_c;
  if (GradMode::enabled()) {
    StepGradients r = recorded(g, c0);
    d_gates = stack(r.gates), d_h = r.h, d_c = r.c;
  } else {
    const std::vector<Tensor> r =
        call_all(Op::lstm_scan_backward_, g.g(0), g.g(1), g.g(2), g.in(arg::weight), c0, g.out(1), g.out(2),
                 g.has(arg::projection) ? g.in(arg::projection) : Tensor(), g[arg::reverse]);
    d_gates = r[0], d_h = r[1], d_c = r[2];
  }
  if (g.needs(arg::gates)) g.set(arg::gates, d_gates);
  if (g.needs(arg::weight))
    g.set(arg::weight, matmul(step_rows(d_gates).t(), step_rows(states_before(g.in(arg::h), g.out(0), g[arg::reverse]))));
  if (g.needs(arg::h)) g.set(arg::h, d_h);
  if (g.needs(arg::c)) g.set(arg::c, d_c);
  if (g.has(arg::projection) && g.needs(arg::projection)) g.set(arg::projection, projection_gradient(g, d_gates));
}
double flops(const Call& c) {
  const double elements = double(c.out[1].numel()), state = double(c[arg::weight].size(1));
  return elements * ((c.has(arg::projection) ? 10.0 : 8.0) * state + 54);
}

constexpr uint16_t kSteps = in(1) | in(3) | in(4) | out(1) | out(2);  // what going back through the steps reads

bool batched(BatchedCall& b) { return batched_scan(b, in(1) | in(4)); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "lstm_scan(Tensor gates, Tensor weight, Tensor h, Tensor c, Tensor? projection=None, bool reverse=False) -> (Tensor "
        "output, Tensor cells, Tensor activations)",
    .doc =
        "The steps of one LSTM layer in one direction: gates [T, N, 4 H] are what the inputs add to the sums of input, forget, "
        "cell and output gate, weight [4 H, H] is applied to the state, h and c [N, H] are the first ones. Gives the states "
        "and "
        "cells of all steps and the gates' activations. reverse: from the last step to the first. projection [P, H] makes "
        "states of P elements: h is [N, P], weight is [4 H, P]. (Hochreiter and Schmidhuber 1997, Sak et al. 2014.)",
    .internal = true,
    .samples =
        "lstm_scan(randn(3, 2, 20), randn(20, 5), randn(2, 5), randn(2, 5))\n"
        "lstm_scan(randn(4, 1, 12), randn(12, 3), randn(1, 3), randn(1, 3), None, True)\n"
        "lstm_scan(randn(1, 3, 72), randn(72, 18), randn(3, 18), randn(3, 18))\n"
        "lstm_scan(randn(3, 2, 20), randn(20, 3), randn(2, 3), randn(2, 5), randn(3, 5))\n"
        "lstm_scan(randn(2, 1, 12), randn(12, 1), randn(1, 1), randn(1, 3), randn(1, 3), True)",
    .bad =
        "lstm_scan(zeros(3, 2, 20), zeros(20, 4), zeros(2, 5), zeros(2, 5)) => lstm_scan: sizes do not fit: gates is f32[3, 2, "
        "20], weight is f32[20, 4]; they are [T, N, 4 H] and [4 H, H]\n"
        "lstm_scan(zeros(3, 2, 20), zeros(20, 5), zeros(2, 4), zeros(2, 5)) => lstm_scan: the state does not fit: it is f32[2, "
        "4], [2, 5] of f32 is needed\n"
        "lstm_scan(zeros(3, 2, 20), zeros(20, 3), zeros(2, 3), zeros(2, 5), zeros(5, 3)) => lstm_scan: sizes do not fit: "
        "gates is f32[3, 2, 20], weight is f32[20, 3], projection is f32[5, 3]; they are [T, N, 4 H], [4 H, P] and [P, H]",
    .infer = infer,
    .backward = backward,
    .needs = {kSteps, kSteps | in(arg::h) | out(0), kSteps, kSteps, kSteps},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::lstm_scan_op
