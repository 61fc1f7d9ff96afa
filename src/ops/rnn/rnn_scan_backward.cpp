#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/rnn/batched.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::rnn_scan_backward_op {
namespace {

void infer(Call& c) {
  const Tensor &weight = c[arg::weight], &output = c[arg::output];
  check_float("rnn_scan_backward", output, "output");
  DY_CHECK(output.dim() == 3 && output.size(0) > 0, "{}: no steps: output is {}; it is [T, N, H]", c.name, describe(output));
  expect_operand(c, 0, "grad", output.sizes(), plain(output));
  expect_operand(c, 1, "weight", {output.size(2), output.size(2)}, plain(output));
  c.nout = 2;
  set_spec(c.spec[0], output, {output.size(0), output.size(1), weight.size(0)});
  set_spec(c.spec[1], output, {output.size(1), output.size(2)});
}
struct Parameters {
  Steps steps;
  Wide wide;
  StepProduct to_state;
  bool relu;
};
void run(const Parameters& p, const Pointers& at) {
  const Steps& s = p.steps;
  const Wide& w = p.wide;
  if (s.rows * s.hidden == 0) return;
  w.load(at);
  const WideArray g = w.in(0, at), weight = w.in(1, at), output = w.in(2, at), d_gates = w.out(0, at), d_h = w.out(1, at);
  w.zero(1, at);
  for (int64_t i = s.count - 1; i >= 0; --i) {
    const int64_t t = s.step(i);
    rnn_kernel().rnn_backward({s.rows, s.hidden, output.step(t), g.step(t), d_h.at, d_gates.step(t), p.relu}, w.type == f64);
    p.to_state.run(d_gates.step(t), weight.at, d_h.at, at);
  }
  w.store(at);
}
void plan(Call& c) {
  const Tensor& output = c[arg::output];
  const Steps s{output.size(0), output.size(1), output.size(2), c[arg::reverse]};
  Wide w(c);
  const StepProduct to_state(w, product(w.type, s.rows, s.hidden, s.hidden, false, false));
  c.plan.workspace = w.bytes();
  c.plan.set<run>(Parameters{s, w, to_state, c[arg::relu]});
}
double flops(const Call& c) { return double(c[arg::output].numel()) * (2.0 * double(c[arg::weight].size(1)) + 4); }

bool batched(BatchedCall& b) { return batched_scan(b, in(1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "rnn_scan_backward(Tensor grad, Tensor weight, Tensor output, bool relu=False, bool reverse=False) -> (Tensor "
        "gates, Tensor h)",
    .doc = "The gradients of rnn_scan's gates and first state, from its result.",
    .internal = true,
    .samples =
        "rnn_scan_backward(randn(3, 2, 5), randn(5, 5), randn(3, 2, 5))\n"
        "rnn_scan_backward(randn(4, 1, 3), randn(3, 3), randn(4, 1, 3), True, True)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::rnn_scan_backward_op
