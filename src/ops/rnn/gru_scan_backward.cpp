#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/rnn/batched.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::gru_scan_backward_op {
namespace {

void infer(Call& c) {
  const Tensor &weight = c[arg::weight], &h = c[arg::h], &output = c[arg::output];
  check_float("gru_scan_backward", h, "h");
  DY_CHECK(output.dim() == 3 && output.size(0) > 0, "{}: no steps: output is {}; it is [T, N, H]", c.name, describe(output));
  const int64_t steps = output.size(0), rows = output.size(1), hidden = output.size(2);
  expect_operand(c, 0, "grad_output", {steps, rows, hidden}, plain(h));
  expect_operand(c, 1, "grad_activations", {steps, rows, 4 * hidden}, plain(h));
  expect_operand(c, 2, "weight", {3 * hidden, hidden}, plain(h));
  expect_operand(c, 3, "h", {rows, hidden});
  expect_operand(c, 4, "output", output.sizes(), plain(h));
  expect_operand(c, 5, "activations", {steps, rows, 4 * hidden}, plain(h));
  c.nout = 3;
  set_spec(c.spec[0], h, {output.size(0), output.size(1), weight.size(0)});
  set_spec(c.spec[1], h, {output.size(0), output.size(1), weight.size(0)});
  set_spec(c.spec[2], h, {h.size(0), h.size(1)});
}
struct Parameters {
  Steps steps;
  Wide wide;
  StepProduct to_state;
};
void run(const Parameters& p, const Pointers& at) {
  const Steps& s = p.steps;
  const Wide& w = p.wide;
  if (s.rows * s.hidden == 0) return;
  w.load(at);
  const WideArray g_output = w.in(0, at), g_kept = w.in(1, at), weight = w.in(2, at), h = w.in(3, at), output = w.in(4, at),
                  kept = w.in(5, at), d_gates = w.out(0, at), d_recurrent = w.out(1, at), d_h = w.out(2, at);
  w.zero(2, at);
  for (int64_t i = s.count - 1; i >= 0; --i) {
    const int64_t t = s.step(i);
    const void* before = i ? output.step(s.step(i - 1)) : h.at;
    rnn_kernel().gru_backward({s.rows, s.hidden, kept.step(t), before, g_output.step(t), g_kept.step(t), d_h.at,
                               d_gates.step(t), d_recurrent.step(t)},
                              w.type == f64);
    p.to_state.run(d_recurrent.step(t), weight.at, d_h.at, at);
  }
  w.store(at);
}
void plan(Call& c) {
  const Tensor& output = c[arg::output];
  const Steps s{output.size(0), output.size(1), output.size(2), c[arg::reverse]};
  Wide w(c);
  const StepProduct to_state(w, product(w.type, s.rows, s.hidden, 3 * s.hidden, false, true));
  c.plan.workspace = w.bytes();
  c.plan.set<run>(Parameters{s, w, to_state});
}
double flops(const Call& c) { return double(c[arg::output].numel()) * (6.0 * double(c[arg::weight].size(1)) + 30); }

bool batched(BatchedCall& b) { return batched_scan(b, in(2)); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "gru_scan_backward(Tensor? grad_output, Tensor? grad_activations, Tensor weight, Tensor h, Tensor output, Tensor "
        "activations, bool reverse=False) -> (Tensor gates, Tensor recurrent, Tensor h)",
    .doc =
        "The gradients of gru_scan's gates, of what weight and bias made of the states, and of the first state, from its "
        "results.",
    .internal = true,
    .samples =
        "gru_scan_backward(randn(3, 2, 5), None, randn(15, 5), randn(2, 5), randn(3, 2, 5), rand(3, 2, 20))\n"
        "gru_scan_backward(None, randn(4, 1, 12), randn(9, 3), randn(1, 3), randn(4, 1, 3), rand(4, 1, 12), True)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::gru_scan_backward_op
