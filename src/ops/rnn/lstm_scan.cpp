#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops {
namespace {

Steps steps_of(const Call& c) {
  return check_scan<4>("lstm_scan", c.tensor(0), c.tensor(1), {&c.tensor(2), &c.tensor(3)}, c.boolean(4));
}
void infer(Call& c) {
  const Steps s = steps_of(c);
  c.nout = 3;
  set_spec(c.spec[0], c.tensor(0), {s.count, s.rows, s.hidden});
  set_spec(c.spec[1], c.tensor(0), {s.count, s.rows, s.hidden});
  set_spec(c.spec[2], c.tensor(0), {s.count, s.rows, 4 * s.hidden});
}
// The weight, transposed once for all steps, [H, 4 H], and the product with it.
struct Operands {
  char* weight;
  StepProduct recurrent;
  Operands(Wide& w, const Steps& s)
      : weight(w.scratch().take<char>(4 * s.hidden * s.hidden * w.type.itemsize())),
        recurrent(w.scratch(), product(w.type, s.rows, 4 * s.hidden, s.hidden, nullptr, weight, false, nullptr, true)) {}
};
int64_t workspace(const Call& c) {
  Wide w(c);
  Operands(w, steps_of(c));
  return w.scratch().bytes();
}
void forward(Call& c) {
  const Steps s = steps_of(c);
  if (c.out[2].numel() == 0) return;
  Wide w(c, c.workspace);
  w.load();
  Operands operands(w, s);
  const int64_t transposed[] = {s.hidden, 4 * s.hidden};
  copy_elements(make_over(operands.weight, transposed, w.type), w.in(1).t());
  const Tensor &output = w.out(0), &cells = w.out(1), &gates = w.out(2);
  copy_elements(gates, w.in(0));
  const void *h = w.data(2), *cell = w.data(3);
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t t = s.step(i);
    operands.recurrent.run(h, row_of(gates, t));
    rnn_kernel().lstm({s.rows, s.hidden, row_of(gates, t), cell, row_of(cells, t), row_of(output, t)}, w.type == f64);
    h = row_of(output, t);
    cell = row_of(cells, t);
  }
  w.store();
}

struct StepGradients {
  std::vector<Tensor> gates;
  Tensor h, c;
};
// The same as lstm_scan_backward, in ops.
StepGradients recorded(const Grad& g, const Tensor& c0) {
  const Tensor cells = g.out(1), activations = g.out(2), weight = g.in(1), zero = zeros_like(c0.detach());
  const Steps s{cells.size(0), cells.size(1), cells.size(2), g.boolean(4)};
  StepGradients r{std::vector<Tensor>(size_t(s.count)), zero, zero};
  for (int64_t k = s.count - 1; k >= 0; --k) {
    const int64_t t = s.step(k);
    auto gate = [&](const Tensor& all, int64_t i) { return gate_of(all, t, i, s.hidden); };
    const Tensor i = gate(activations, 0), f = gate(activations, 1), c = gate(activations, 2), o = gate(activations, 3);
    const Tensor before = before_step(cells, c0, s, k), level = tanh(at_step(cells, t));
    const Tensor dh = plus(r.h, at_step(g.g(0), t));
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

void backward(Grad& g) {
  const Tensor c0 = g.in(3);
  Tensor d_gates, d_h, d_c;
  if (GradMode::enabled()) {
    StepGradients r = recorded(g, c0);
    d_gates = r.gates.empty() ? zeros_like(g.out(2).detach()) : stack(r.gates);
    d_h = r.h, d_c = r.c;
  } else {
    const std::vector<Tensor> r =
        call_all(Op::lstm_scan_backward_, g.g(0), g.g(1), g.g(2), g.in(1), c0, g.out(1), g.out(2), g.boolean(4));
    d_gates = r[0], d_h = r[1], d_c = r[2];
  }
  if (g.needs(0)) g.set(0, d_gates);
  if (g.needs(1)) g.set(1, matmul(rows_of(d_gates).t(), rows_of(states_before(g.in(2), g.out(0), g.boolean(4)))));
  if (g.needs(2)) g.set(2, d_h);
  if (g.needs(3)) g.set(3, d_c);
}
double flops(const Call& c) {
  const double elements = double(c.out[1].numel());
  return elements * (8.0 * double(c.tensor(1).size(1)) + 54);
}

}  // namespace

extern constexpr OpDef lstm_scan_op = {
    .sig =
        "lstm_scan(Tensor gates, Tensor weight, Tensor h, Tensor c, bool reverse=False) -> (Tensor output, Tensor cells, "
        "Tensor "
        "activations)",
    .doc =
        "The steps of one LSTM layer in one direction: gates [T, N, 4 H] are what the inputs add to the sums of input, forget, "
        "cell "
        "and output gate, weight [4 H, H] is applied to the state, h and c [N, H] are the first ones. Gives the states and "
        "cells "
        "of "
        "all steps and the gates' activations. reverse: from the last step to the first. (Hochreiter and Schmidhuber 1997.)",
    .samples =
        "lstm_scan(randn(3, 2, 20), randn(20, 5), randn(2, 5), randn(2, 5))\n"
        "lstm_scan(randn(4, 1, 12), randn(12, 3), randn(1, 3), randn(1, 3), True)\n"
        "lstm_scan(randn(1, 3, 72), randn(72, 18), randn(3, 18), randn(3, 18))",
    .bad =
        "lstm_scan(zeros(3, 2, 20), zeros(20, 4), zeros(2, 5), zeros(2, 5)) => lstm_scan: sizes do not fit: gates is f32[3, 2, "
        "20], weight is f32[20, 4]; they are [T, N, 4 H] and [4 H, H]\n"
        "lstm_scan(zeros(3, 2, 20), zeros(20, 5), zeros(2, 4), zeros(2, 5)) => lstm_scan: the state does not fit: it is f32[2, "
        "4], [2, 5] of f32 is needed",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1) | in(3) | out(1) | out(2), in(1) | in(2) | in(3) | out(0) | out(1) | out(2),
              in(1) | in(3) | out(1) | out(2), in(1) | in(3) | out(1) | out(2)},
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
