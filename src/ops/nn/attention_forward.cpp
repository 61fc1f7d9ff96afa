#include "corridor/batching.h"
#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::attention_forward_op {
namespace {

AttentionShape shape_of(IntList q, IntList k, bool causal, double scale) {
  return {q[0], q[1], q[2], k[2], q[3], causal, scale};
}
AttentionShape shape_of(const Call& c) {
  return shape_of(c[arg::query].sizes(), c[arg::key].sizes(), c[arg::is_causal], c[arg::scale]);
}

void infer(Call& c) {
  const Tensor &q = c[arg::query], &k = c[arg::key], &v = c[arg::value];
  check_float("scaled_dot_product_attention", q, "query");
  bool fits = q.dim() == 4 && k.dim() == 4 && v.sizes() == k.sizes() && q.size(0) == k.size(0) && q.size(1) == k.size(1) &&
              q.size(3) == k.size(3);
  DY_CHECK(fits,
           "scaled_dot_product_attention: sizes do not fit: query is {}, key is {}, value is {}; [B, H, T, D] with one B, H "
           "and D, keys as many as values",
           describe(q), describe(k), describe(v));
  DY_CHECK_AS(TypeError, plain(q) == plain(k) && plain(q) == plain(v),
              "scaled_dot_product_attention: dtypes differ: query is {}, key is {}, value is {}", describe(q), describe(k),
              describe(v));
  for (const Tensor* t : {&q, &k, &v})
    DY_CHECK(t->stride(3) == 1 || t->size(3) <= 1, "attention_forward: the last stride must be 1; call contiguous()");
  c.nout = 2;
  c.spec[0].dtype = plain(q);
  c.spec[0].device = c.spec[1].device = q.device();
  c.spec[0].shape(q.sizes());
  c.spec[1].dtype = lse_type(plain(q));
  c.spec[1].shape({q.sizes().begin(), 3});
}
struct Parameters {
  AttentionShape shape;
  Operand q, k, v, out;
};
void run(const Parameters& p, const Pointers& at) {
  attention_forward(p.shape, {at.input(0, p.q), at.input(1, p.k), at.input(2, p.v)}, at.output(0, p.out), at.out[1],
                    at.workspace);
}
void plan(Call& c) {
  const AttentionShape s = shape_of(c);
  c.plan.workspace = attention_workspace(s, c[arg::query].dtype(), false);
  c.plan.set<run>(Parameters{s, c.operand(arg::query), c.operand(arg::key), c.operand(arg::value), c.result()});
}
void backward(Grad& g) {
  const Tensor q = g.in(arg::query), k = g.in(arg::key), v = g.in(arg::value);
  if (GradMode::enabled()) {
    const auto d = attention_gradients(shape_of(q.sizes(), k.sizes(), g[arg::is_causal], g[arg::scale]), {q, k, v}, g.g());
    g.set(arg::query, d.q);
    g.set(arg::key, d.k);
    return g.set(arg::value, d.v);
  }
  Tensor dout = g.g().contiguous(), o = g.out(0), lse = g.out(1);
  Arg args[] = {dout, q, k, v, o, lse, g[arg::is_causal], g[arg::scale]};
  Tensor out[3];
  call_op(Op::attention_backward_, args, 8, out);
  for (int i = 0; i < 3; ++i) g.set(i, out[i]);
}
double flops(const Call& c) { return attention_flops(shape_of(c), false); }
constexpr uint16_t kAll = in(0) | in(1) | in(2) | out(0) | out(1);

}  // namespace

extern constexpr OpDef record = {
    .sig = "attention_forward(Tensor query, Tensor key, Tensor value, bool is_causal, float scale) -> (Tensor, Tensor)",
    .doc = "scaled_dot_product_attention of [B, H, T, D] tensors, and the log of each query's sum of exponentials.",
    .amp = Amp::lower,
    .internal = true,
    .samples = "attention_forward(randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4), True, 0.5)",
    .skip = "second_output: lse is not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {kAll, kAll, kAll},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::attention_forward_op
