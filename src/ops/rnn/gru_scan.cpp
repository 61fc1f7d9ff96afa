#include "corridor/batching.h"
#include "ops/rnn/batched.h"
#include "ops/rnn/scan.h"

namespace dyadic::inline v1::ops::gru_scan_op {
namespace {

Steps steps_of(const Call& c) {
  const Steps s = check_scan<3>("gru_scan", c[arg::gates], c[arg::weight], &c[arg::h], nullptr, c[arg::reverse]);
  DY_CHECK(!c.has(arg::bias) ||
               (c[arg::bias].dim() == 1 && c[arg::bias].size(0) == 3 * s.hidden && plain(c[arg::bias]) == plain(c[arg::gates])),
           "gru_scan: the bias does not fit: weight is {}, bias is {}", describe(c[arg::weight]), describe(c[arg::bias]));
  return s;
}
void infer(Call& c) {
  const Steps s = steps_of(c);
  c.nout = 2;
  set_spec(c.spec[0], c[arg::gates], {s.count, s.rows, s.hidden});
  set_spec(c.spec[1], c[arg::gates], {s.count, s.rows, 4 * s.hidden});
}
GemmCall product_of(const Wide& w, const Steps& s, bool bias) {
  GemmCall g = product(w.type, s.rows, 3 * s.hidden, s.hidden, true, false);
  if (bias) g.bias_dtype = w.type;
  return g;
}
struct Parameters {
  Steps steps;
  Wide wide;
  int64_t sums;  // in workspace: what one step's state adds to the gates' sums
  StepProduct recurrent;
};
void run(const Parameters& p, const Pointers& at) {
  const Steps& s = p.steps;
  const Wide& w = p.wide;
  if (s.rows * s.hidden == 0) return;
  w.load(at);
  char* sums = static_cast<char*>(at.workspace) + p.sums;
  const WideArray gates = w.in(0, at), weight = w.in(1, at), bias = w.in(2, at), output = w.out(0, at), kept = w.out(1, at);
  const void* h = w.in(3, at).at;
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t t = s.step(i);
    p.recurrent.run(h, weight.at, sums, at, bias.at);
    rnn_kernel().gru({s.rows, s.hidden, gates.step(t), sums, h, kept.step(t), output.step(t)}, w.type == f64);
    h = output.step(t);
  }
  w.store(at);
}
void plan(Call& c) {
  const Steps s = steps_of(c);
  Wide w(c);
  const int64_t sums = w.take(s.rows * 3 * s.hidden * w.type.itemsize());
  const StepProduct recurrent(w, product_of(w, s, c.has(arg::bias)));
  c.plan.workspace = w.bytes();
  c.plan.set<run>(Parameters{s, w, sums, recurrent});
}

struct StepGradients {
  std::vector<Tensor> gates, recurrent;
  Tensor h;
};
// The same as gru_scan_backward, in ops.
StepGradients recorded(const Grad& g, const Tensor& h0) {
  const Tensor output = g.out(0), kept = g.out(1), weight = g.in(arg::weight);
  const Steps s{output.size(0), output.size(1), output.size(2), g[arg::reverse]};
  StepGradients r{std::vector<Tensor>(size_t(s.count)), std::vector<Tensor>(size_t(s.count)), zeros_like(h0.detach())};
  for (int64_t k = s.count - 1; k >= 0; --k) {
    const int64_t t = s.step(k);
    auto part = [&](const Tensor& all, int64_t i) { return gate_of(all, t, i, s.hidden); };
    const Tensor reset = part(kept, 0), update = part(kept, 1), fresh = part(kept, 2), recurrent = part(kept, 3);
    const Tensor before = before_step(output, h0, s, k), dh = plus(r.h, at_step(g.g(0), t));
    const Tensor dn = mul(plus(mul(dh, sub(1, update)), part(g.g(1), 2)), sub(1, square(fresh)));
    const Tensor dr = mul(plus(mul(dn, recurrent), part(g.g(1), 0)), mul(reset, sub(1, reset)));
    const Tensor dz = mul(plus(mul(dh, sub(before, fresh)), part(g.g(1), 1)), mul(update, sub(1, update)));
    const Tensor ours[] = {dr, dz, dn}, theirs[] = {dr, dz, plus(mul(dn, reset), part(g.g(1), 3))};
    r.gates[size_t(t)] = cat(ours, -1);
    r.recurrent[size_t(t)] = cat(theirs, -1);
    r.h = add(mul(dh, update), matmul(r.recurrent[size_t(t)], weight));
  }
  return r;
}

void backward(Grad& g) {
  const Tensor h0 = g.in(arg::h);
  Tensor d_gates, d_recurrent, d_h;
  if (GradMode::enabled()) {
    StepGradients r = recorded(g, h0);
    d_gates = stack(r.gates), d_recurrent = stack(r.recurrent), d_h = r.h;
  } else {
    const std::vector<Tensor> r =
        call_all(Op::gru_scan_backward_, g.g(0), g.g(1), g.in(arg::weight), h0, g.out(0), g.out(1), g[arg::reverse]);
    d_gates = r[0], d_recurrent = r[1], d_h = r[2];
  }
  if (g.needs(arg::gates)) g.set(arg::gates, d_gates);
  if (g.needs(arg::weight))
    g.set(arg::weight, matmul(step_rows(d_recurrent).t(), step_rows(states_before(h0, g.out(0), g[arg::reverse]))));
  if (g.has(arg::bias) && g.needs(arg::bias)) g.set(arg::bias, sum(d_recurrent, {0, 1}));
  if (g.needs(arg::h)) g.set(arg::h, d_h);
}
double flops(const Call& c) { return double(c.out[0].numel()) * (6.0 * double(c[arg::weight].size(1)) + 40); }

bool batched(BatchedCall& b) { return batched_scan(b, in(1) | in(2)); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "gru_scan(Tensor gates, Tensor weight, Tensor? bias, Tensor h, bool reverse=False) -> (Tensor output, Tensor "
        "activations)",
    .doc =
        "The steps of one GRU layer in one direction: gates [T, N, 3 H] are what the inputs add to reset, update and new, "
        "weight "
        "[3 H, H] and bias [3 H] are applied to the state, h [N, H] is the first one. Gives the states of all steps, and "
        "[T, N, 4 H]: reset, update, new, and what new had of the state. reverse: from the last step to the first. (Cho et al. "
        "2014.)",
    .internal = true,
    .samples =
        "gru_scan(randn(3, 2, 15), randn(15, 5), randn(15), randn(2, 5))\n"
        "gru_scan(randn(4, 1, 9), randn(9, 3), None, randn(1, 3), True)\n"
        "gru_scan(randn(1, 3, 54), randn(54, 18), randn(54), randn(3, 18))",
    .bad =
        "gru_scan(zeros(3, 2, 15), zeros(15, 5), zeros(5), zeros(2, 5)) => gru_scan: the bias does not fit: weight is f32[15, "
        "5], bias is f32[5]\n"
        "gru_scan(zeros(0, 2, 15), zeros(15, 5), None, zeros(2, 5)) => gru_scan: no time step: gates is f32[0, 2, 15]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::weight) | in(arg::h) | out(0) | out(1), in(arg::weight) | in(arg::h) | out(0) | out(1),
              in(arg::weight) | in(arg::h) | out(0) | out(1), in(arg::weight) | in(arg::h) | out(0) | out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::gru_scan_op
