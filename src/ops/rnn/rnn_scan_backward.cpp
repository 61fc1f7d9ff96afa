#include <cstring>

#include "ops/expected.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::rnn_scan_backward_op {
namespace {

void infer(Call& c) {
  const Tensor &weight = c.tensor(1), &output = c.tensor(2);
  check_float("rnn_scan_backward", output, "output");
  DY_CHECK(output.dim() == 3 && output.size(0) > 0, "{}: no steps: output is {}; it is [T, N, H]", c.name, describe(output));
  expect_operand(c, 0, "grad", output.sizes(), plain(output));
  expect_operand(c, 1, "weight", {output.size(2), output.size(2)}, plain(output));
  c.nout = 2;
  set_spec(c.spec[0], output, {output.size(0), output.size(1), weight.size(0)});
  set_spec(c.spec[1], output, {output.size(1), output.size(2)});
}
StepProduct to_state(Wide& w, const Steps& s) {
  return {w.scratch(), product(w.type, s.rows, s.hidden, s.hidden, nullptr, w.data(1), false, nullptr, false)};
}
Steps steps_of(const Call& c) { return {c.tensor(2).size(0), c.tensor(2).size(1), c.tensor(2).size(2), c.boolean(4)}; }
int64_t workspace(const Call& c) {
  Wide w(c);
  to_state(w, steps_of(c));
  return w.scratch().bytes();
}
void forward(Call& c) {
  const Steps s = steps_of(c);
  if (c.out[1].numel() == 0) return;
  Wide w(c, c.workspace);
  w.load();
  StepProduct state = to_state(w, s);
  const Tensor &d_gates = w.out(0), &d_h = w.out(1);
  std::memset(d_h.impl()->data(), 0, size_t(d_h.nbytes()));
  for (int64_t i = s.count - 1; i >= 0; --i) {
    const int64_t t = s.step(i);
    rnn_kernel().rnn_backward(
        {s.rows, s.hidden, row_of(w.in(2), t), row_of(w.in(0), t), d_h.impl()->data(), row_of(d_gates, t), c.boolean(3)},
        w.type == f64);
    state.run(row_of(d_gates, t), d_h.impl()->data());
  }
  w.store();
}
double flops(const Call& c) { return double(c.tensor(2).numel()) * (2.0 * double(c.tensor(1).size(1)) + 4); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "rnn_scan_backward(Tensor grad, Tensor weight, Tensor output, bool relu=False, bool reverse=False) -> (Tensor "
        "gates, Tensor h)",
    .doc = "The gradients of rnn_scan's gates and first state, from its result.",
    .samples =
        "rnn_scan_backward(randn(3, 2, 5), randn(5, 5), randn(3, 2, 5))\n"
        "rnn_scan_backward(randn(4, 1, 3), randn(3, 3), randn(4, 1, 3), True, True)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::rnn_scan_backward_op
