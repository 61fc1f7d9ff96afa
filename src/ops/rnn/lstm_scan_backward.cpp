#include <cstring>
#include <optional>

#include "ops/expected.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::lstm_scan_backward_op {
namespace {

const Tensor* projection(const Call& c) { return c.has(7) ? &c.tensor(7) : nullptr; }
void infer(Call& c) {
  const Tensor &weight = c.tensor(3), &c0 = c.tensor(4);
  const Steps s = check_scan<4>("lstm_scan_backward", c.tensor(6), weight, nullptr, &c0, c.boolean(8), projection(c));
  expect_operand(c, 0, "grad_output", {s.count, s.rows, s.state}, plain(c0));
  expect_operand(c, 1, "grad_cells", {s.count, s.rows, s.hidden}, plain(c0));
  expect_operand(c, 2, "grad_activations", {s.count, s.rows, 4 * s.hidden}, plain(c0));
  expect_operand(c, 5, "cells", {s.count, s.rows, s.hidden}, plain(c0));
  c.nout = 3;
  set_spec(c.spec[0], c0, {s.count, s.rows, 4 * s.hidden});
  set_spec(c.spec[1], c0, {s.rows, s.state});
  set_spec(c.spec[2], c0, {s.rows, s.hidden});
}
struct Operands {
  StepProduct state;
  char* d_hidden = nullptr;  // of one step's hidden values before their projection
  std::optional<StepProduct> hidden;
  Operands(Wide& w, const Steps& s, bool projected)
      : state(w.scratch(), product(w.type, s.rows, s.state, 4 * s.hidden, nullptr, w.data(3), false, nullptr, false)) {
    if (!projected) return;
    d_hidden = w.scratch().take<char>(s.rows * s.hidden * w.type.itemsize());
    hidden.emplace(w.scratch(), product(w.type, s.rows, s.hidden, s.state, nullptr, w.data(7), false, nullptr, false));
  }
};
Steps steps_of(const Call& c) {
  return {c.tensor(5).size(0), c.tensor(5).size(1), c.tensor(5).size(2), c.boolean(8), c.tensor(3).size(1)};
}
int64_t workspace(const Call& c) {
  Wide w(c);
  Operands(w, steps_of(c), c.has(7));
  return w.scratch().bytes();
}
void forward(Call& c) {
  const Steps s = steps_of(c);
  if (c.out[0].numel() == 0) return;
  Wide w(c, c.workspace);
  w.load();
  Operands operands(w, s, c.has(7));
  const Tensor &cells = w.in(5), &activations = w.in(6), &d_gates = w.out(0), &d_h = w.out(1), &d_c = w.out(2);
  std::memset(d_h.impl()->data(), 0, size_t(d_h.nbytes()));
  std::memset(d_c.impl()->data(), 0, size_t(d_c.nbytes()));
  auto given = [&](int i, int64_t t) { return c.has(i) ? row_of(w.in(i), t) : nullptr; };
  for (int64_t i = s.count - 1; i >= 0; --i) {
    const int64_t t = s.step(i);
    const void *before = i ? row_of(cells, s.step(i - 1)) : w.data(4), *g_out = given(0, t), *d_hidden = d_h.impl()->data();
    if (operands.hidden) {
      if (g_out) rnn_kernel().add(s.rows * s.state, g_out, d_h.impl()->data(), w.type == f64);
      operands.hidden->run(d_h.impl()->data(), operands.d_hidden);
      g_out = nullptr, d_hidden = operands.d_hidden;
    }
    rnn_kernel().lstm_backward({s.rows, s.hidden, row_of(activations, t), before, row_of(cells, t), g_out, given(1, t),
                                given(2, t), d_hidden, d_c.impl()->data(), row_of(d_gates, t)},
                               w.type == f64);
    operands.state.run(row_of(d_gates, t), d_h.impl()->data());
  }
  w.store();
}
double flops(const Call& c) {
  const double elements = double(c.tensor(5).numel()), state = double(c.tensor(3).size(1));
  return elements * ((c.has(7) ? 10.0 : 8.0) * state + 40);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "lstm_scan_backward(Tensor? grad_output, Tensor? grad_cells, Tensor? grad_activations, Tensor weight, Tensor c, Tensor "
        "cells, Tensor activations, Tensor? projection=None, bool reverse=False) -> (Tensor gates, Tensor h, Tensor c)",
    .doc = "The gradients of lstm_scan's gates and first states, from its results.",
    .samples =
        "lstm_scan_backward(randn(3, 2, 5), None, None, randn(20, 5), randn(2, 5), randn(3, 2, 5), rand(3, 2, 20))\n"
        "lstm_scan_backward(None, randn(4, 1, 3), randn(4, 1, 12), randn(12, 3), randn(1, 3), randn(4, 1, 3), rand(4, 1, 12), "
        "None, True)\n"
        "lstm_scan_backward(randn(3, 2, 4), None, None, randn(20, 4), randn(2, 5), randn(3, 2, 5), rand(3, 2, 20), "
        "randn(4, 5))",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::lstm_scan_backward_op
