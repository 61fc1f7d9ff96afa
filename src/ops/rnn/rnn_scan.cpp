#include "corridor/batching.h"
#include "ops/rnn/batched.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::rnn_scan_op {
namespace {

Steps steps_of(const Call& c) {
  return check_scan<1>("rnn_scan", c[arg::gates], c[arg::weight], &c[arg::h], nullptr, c[arg::reverse]);
}
void infer(Call& c) {
  const Steps s = steps_of(c);
  set_spec(c.spec[0], c[arg::gates], {s.count, s.rows, s.hidden});
}
struct Parameters {
  Steps steps;
  Wide wide;
  TransposedProduct recurrent;
  bool relu;
};
void run(const Parameters& p, const Pointers& at) {
  const Steps& s = p.steps;
  const Wide& w = p.wide;
  if (s.rows * s.hidden == 0) return;
  w.load(at);
  p.recurrent.load(w.in(1, at), at);
  w.assign(0, 0, at);
  const WideArray output = w.out(0, at);
  const void* h = w.in(2, at).at;
  for (int64_t i = 0; i < s.count; ++i) {
    char* row = output.step(s.step(i));
    p.recurrent.run(h, row, at);
    rnn_kernel().rnn({s.rows, s.hidden, row, p.relu}, w.type == f64);
    h = row;
  }
  w.store(at);
}
void plan(Call& c) {
  const Steps s = steps_of(c);
  Wide w(c);
  const TransposedProduct recurrent(w, s.rows, s.hidden, s.hidden, true);
  c.plan.workspace = w.bytes();
  c.plan.set<run>(Parameters{s, w, recurrent, c[arg::relu]});
}

struct StepGradients {
  std::vector<Tensor> gates;
  Tensor h;
};
// The same as rnn_scan_backward, in ops.
StepGradients recorded(const Grad& g, const Tensor& output, const Tensor& weight) {
  const Steps s{output.size(0), output.size(1), output.size(2), g[arg::reverse]};
  StepGradients r{std::vector<Tensor>(size_t(s.count)), zeros_like(select(output, 0, 0).detach())};
  for (int64_t k = s.count - 1; k >= 0; --k) {
    const int64_t t = s.step(k);
    const Tensor y = at_step(output, t), d = add(r.h, at_step(g.g(), t));
    r.gates[size_t(t)] = g[arg::relu] ? mul(d, gt(y, 0.0).to(y.dtype())) : mul(d, sub(1, square(y)));
    r.h = matmul(r.gates[size_t(t)], weight);
  }
  return r;
}

void backward(Grad& g) {
  const Tensor output = g.out(0), weight = g.in(arg::weight);
  Tensor d_gates, d_h;
  if (GradMode::enabled()) {
    StepGradients r = recorded(g, output, weight);
    d_gates = stack(r.gates), d_h = r.h;
  } else {
    const std::vector<Tensor> r = call_all(Op::rnn_scan_backward_, g.g(), weight, output, g[arg::relu], g[arg::reverse]);
    d_gates = r[0], d_h = r[1];
  }
  if (g.needs(arg::gates)) g.set(arg::gates, d_gates);
  if (g.needs(arg::weight))
    g.set(arg::weight, matmul(step_rows(d_gates).t(), step_rows(states_before(g.in(arg::h), output, g[arg::reverse]))));
  if (g.needs(arg::h)) g.set(arg::h, d_h);
}
double flops(const Call& c) { return double(c.out[0].numel()) * (2.0 * double(c[arg::weight].size(1)) + 20); }

bool batched(BatchedCall& b) { return batched_scan(b, in(1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "rnn_scan(Tensor gates, Tensor weight, Tensor h, bool relu=False, bool reverse=False) -> Tensor",
    .doc =
        "The steps of one plain recurrent layer in one direction: gates [T, N, H] are what the inputs add to the sums, weight "
        "[H, H] is applied to the state, h [N, H] is the first one; a state is the tanh of its sum, or the relu. Gives the "
        "states of all steps. reverse: from the last step to the first. (Elman 1990.)",
    .internal = true,
    .low = -1,
    .high = 1,
    .samples =
        "rnn_scan(randn(3, 2, 5), randn(5, 5), randn(2, 5))\n"
        "rnn_scan(rand(4, 1, 3), rand(3, 3), rand(1, 3), False, True)\n"
        "rnn_scan(randn(2, 3, 18), randn(18, 18), randn(3, 18), True)",
    .bad =
        "rnn_scan(zeros(3, 2, 5), zeros(5, 4), zeros(2, 5)) => rnn_scan: sizes do not fit: gates is f32[3, 2, 5], weight is "
        "f32[5, 4]; they are [T, N, H] and [H, H]\n"
        "rnn_scan(zeros(3, 2, 5), zeros(5, 5), zeros(2, 4)) => rnn_scan: the state does not fit: it is f32[2, 4], [2, 5] of "
        "f32 "
        "is needed",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::weight) | out(0), in(arg::weight) | in(arg::h) | out(0), in(arg::weight) | out(0)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::rnn_scan_op
