#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::attention_backward_op {
namespace {

AttentionShape shape_of(const Call& c) {
  const Tensor &q = c[arg::query], &k = c[arg::key];
  return {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), c[arg::is_causal], float(c[arg::scale])};
}
void infer(Call& c) {
  const Tensor &q = c[arg::query], &k = c[arg::key];
  check_float(c.name, q, "query");
  DY_CHECK(q.dim() == 4 && k.dim() == 4, "{}: needs [B, H, T, D]: query is {}, key is {}", c.name, describe(q), describe(k));
  expect_operand(c, 0, "grad", q.sizes(), plain(q));
  for (int i : {2, 3}) expect_operand(c, i, i == 2 ? "key" : "value", {q.size(0), q.size(1), k.size(2), q.size(3)}, plain(q));
  expect_operand(c, 4, "out", q.sizes(), plain(q));
  expect_operand(c, 5, "lse", {q.size(0), q.size(1), q.size(2)}, lse_type(plain(q)));
  for (int i = 0; i < 5; ++i)
    DY_CHECK(c.tensor(i).stride(3) == 1 || q.size(3) <= 1, "{}: the last stride must be 1; call contiguous()", c.name);
  c.nout = 3;
  for (int i = 0; i < 3; ++i) {
    c.spec[i].dtype = plain(c.tensor(i + 1));
    c.spec[i].device = c.tensor(i + 1).device();
    c.spec[i].shape(c.tensor(i + 1).sizes());
  }
}
struct Parameters {
  AttentionShape shape;
  Operand dout, q, k, v, out, dq, dk, dv;
};
void run(const Parameters& p, const Pointers& at) {
  attention_backward(p.shape, {at.input(1, p.q), at.input(2, p.k), at.input(3, p.v)}, at.input(4, p.out), at.in[5],
                     at.input(0, p.dout), {at.output(0, p.dq), at.output(1, p.dk), at.output(2, p.dv)}, at.workspace);
}
void plan(Call& c) {
  const AttentionShape s = shape_of(c);
  c.plan.workspace = attention_workspace(s, c[arg::query].dtype(), true);
  c.plan.set<run>(Parameters{s, c.operand(arg::grad), c.operand(arg::query), c.operand(arg::key), c.operand(arg::value),
                             c.operand(arg::out), c.result(0), c.result(1), c.result(2)});
}
double flops(const Call& c) { return attention_flops(shape_of(c), true); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor out, Tensor lse, bool is_causal, float "
        "scale) -> (Tensor, Tensor, Tensor)",
    .doc = "The gradients of attention_forward for query, key and value.",
    .internal = true,
    .samples =
        "attention_backward(randn(2, 2, 3, 4), randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4), randn(2, 2, 3, 4), "
        "rand(2, 2, 3; wide), True, 0.5)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::attention_backward_op
