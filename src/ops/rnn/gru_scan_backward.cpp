#include <cstring>

#include "ops/expected.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::gru_scan_backward_op {
namespace {

void infer(Call& c) {
  const Tensor &weight = c.tensor(2), &h = c.tensor(3), &output = c.tensor(4);
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
StepProduct to_state(Wide& w, const Steps& s) {
  return {w.scratch(), product(w.type, s.rows, s.hidden, 3 * s.hidden, nullptr, w.data(2), false, nullptr, true)};
}
Steps steps_of(const Call& c) { return {c.tensor(4).size(0), c.tensor(4).size(1), c.tensor(4).size(2), c.boolean(6)}; }
int64_t workspace(const Call& c) {
  Wide w(c);
  to_state(w, steps_of(c));
  return w.scratch().bytes();
}
void forward(Call& c) {
  const Steps s = steps_of(c);
  if (c.out[2].numel() == 0) return;
  Wide w(c, c.workspace);
  w.load();
  StepProduct state = to_state(w, s);
  const Tensor &output = w.in(4), &kept = w.in(5), &d_gates = w.out(0), &d_recurrent = w.out(1), &d_h = w.out(2);
  std::memset(d_h.impl()->data(), 0, size_t(d_h.nbytes()));
  auto given = [&](int i, int64_t t) { return c.has(i) ? row_of(w.in(i), t) : nullptr; };
  for (int64_t i = s.count - 1; i >= 0; --i) {
    const int64_t t = s.step(i);
    const void* before = i ? row_of(output, s.step(i - 1)) : w.data(3);
    rnn_kernel().gru_backward({s.rows, s.hidden, row_of(kept, t), before, given(0, t), given(1, t), d_h.impl()->data(),
                               row_of(d_gates, t), row_of(d_recurrent, t)},
                              w.type == f64);
    state.run(row_of(d_recurrent, t), d_h.impl()->data());
  }
  w.store();
}
double flops(const Call& c) { return double(c.tensor(4).numel()) * (6.0 * double(c.tensor(2).size(1)) + 30); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "gru_scan_backward(Tensor? grad_output, Tensor? grad_activations, Tensor weight, Tensor h, Tensor output, Tensor "
        "activations, bool reverse=False) -> (Tensor gates, Tensor recurrent, Tensor h)",
    .doc =
        "The gradients of gru_scan's gates, of what weight and bias made of the states, and of the first state, from its "
        "results.",
    .samples =
        "gru_scan_backward(randn(3, 2, 5), None, randn(15, 5), randn(2, 5), randn(3, 2, 5), rand(3, 2, 20))\n"
        "gru_scan_backward(None, randn(4, 1, 12), randn(9, 3), randn(1, 3), randn(4, 1, 3), rand(4, 1, 12), True)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::gru_scan_backward_op
