#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/rnn/batched.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::lstm_scan_backward_op {
namespace {

const Tensor* projection(const Call& c) { return c.has(arg::projection) ? &c[arg::projection] : nullptr; }
void infer(Call& c) {
  const Tensor &weight = c[arg::weight], &c0 = c[arg::c];
  const Steps s =
      check_scan<4>("lstm_scan_backward", c[arg::activations], weight, nullptr, &c0, c[arg::reverse], projection(c));
  expect_operand(c, 0, "grad_output", {s.count, s.rows, s.state}, plain(c0));
  expect_operand(c, 1, "grad_cells", {s.count, s.rows, s.hidden}, plain(c0));
  expect_operand(c, 2, "grad_activations", {s.count, s.rows, 4 * s.hidden}, plain(c0));
  expect_operand(c, 5, "cells", {s.count, s.rows, s.hidden}, plain(c0));
  c.nout = 3;
  set_spec(c.spec[0], c0, {s.count, s.rows, 4 * s.hidden});
  set_spec(c.spec[1], c0, {s.rows, s.state});
  set_spec(c.spec[2], c0, {s.rows, s.hidden});
}
struct Parameters {
  Steps steps;
  Wide wide;
  StepProduct to_state;
  bool projected;
  int64_t d_hidden = 0;  // in workspace: of one step's hidden values before their projection
  StepProduct to_hidden;
};
void run(const Parameters& p, const Pointers& at) {
  const Steps& s = p.steps;
  const Wide& w = p.wide;
  if (s.rows * s.hidden == 0) return;
  w.load(at);
  const WideArray g_output = w.in(0, at), g_cells = w.in(1, at), g_activations = w.in(2, at), weight = w.in(3, at),
                  c0 = w.in(4, at), cells = w.in(5, at), activations = w.in(6, at), d_gates = w.out(0, at), d_h = w.out(1, at),
                  d_c = w.out(2, at);
  w.zero(1, at);
  w.zero(2, at);
  for (int64_t i = s.count - 1; i >= 0; --i) {
    const int64_t t = s.step(i);
    const void *before = i ? cells.step(s.step(i - 1)) : c0.at, *g_out = g_output.step(t), *d_hidden = d_h.at;
    if (p.projected) {
      char* own = static_cast<char*>(at.workspace) + p.d_hidden;
      if (g_out) rnn_kernel().add(s.rows * s.state, g_out, d_h.at, w.type == f64);
      p.to_hidden.run(d_h.at, w.in(7, at).at, own, at);
      g_out = nullptr, d_hidden = own;
    }
    rnn_kernel().lstm_backward({s.rows, s.hidden, activations.step(t), before, cells.step(t), g_out, g_cells.step(t),
                                g_activations.step(t), d_hidden, d_c.at, d_gates.step(t)},
                               w.type == f64);
    p.to_state.run(d_gates.step(t), weight.at, d_h.at, at);
  }
  w.store(at);
}
void plan(Call& c) {
  Parameters& p = c.plan.make<run, Parameters>();
  const Tensor& cells = c[arg::cells];
  const Steps s = p.steps = {cells.size(0), cells.size(1), cells.size(2), c[arg::reverse], c[arg::weight].size(1)};
  Wide& w = p.wide = Wide(c);
  p.to_state = {w, product(w.type, s.rows, s.state, 4 * s.hidden, false, false)};
  p.projected = c.has(arg::projection);
  if (p.projected) {
    p.d_hidden = w.take(s.rows * s.hidden * w.type.itemsize());
    p.to_hidden = {w, product(w.type, s.rows, s.hidden, s.state, false, false)};
  }
  c.plan.workspace = w.bytes();
}
double flops(const Call& c) {
  const double elements = double(c[arg::cells].numel()), state = double(c[arg::weight].size(1));
  return elements * ((c.has(arg::projection) ? 10.0 : 8.0) * state + 40);
}

bool batched(BatchedCall& b) { return batched_scan(b, in(3) | in(7)); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "lstm_scan_backward(Tensor? grad_output, Tensor? grad_cells, Tensor? grad_activations, Tensor weight, Tensor c, Tensor "
        "cells, Tensor activations, Tensor? projection=None, bool reverse=False) -> (Tensor gates, Tensor h, Tensor c)",
    .doc = "The gradients of lstm_scan's gates and first states, from its results.",
    .internal = true,
    .samples =
        "lstm_scan_backward(randn(3, 2, 5), None, None, randn(20, 5), randn(2, 5), randn(3, 2, 5), rand(3, 2, 20))\n"
        "lstm_scan_backward(None, randn(4, 1, 3), randn(4, 1, 12), randn(12, 3), randn(1, 3), randn(4, 1, 3), rand(4, 1, 12), "
        "None, True)\n"
        "lstm_scan_backward(randn(3, 2, 4), None, None, randn(20, 4), randn(2, 5), randn(3, 2, 5), rand(3, 2, 20), "
        "randn(4, 5))",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::lstm_scan_backward_op
