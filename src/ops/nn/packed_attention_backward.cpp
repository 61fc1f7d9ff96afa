#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::packed_attention_backward_op {
namespace {

AttentionShape shape_of(const Call& c) { return packed_shape(c[arg::qkv].sizes(), c[arg::is_causal]); }
void infer(Call& c) {
  const Tensor& t = c[arg::qkv];
  check_float(c.name, t, "qkv");
  DY_CHECK(t.dim() == 5 && t.size(2) == 3, "{}: qkv must be [B, T, 3, H, D]: qkv is {}", c.name, describe(t));
  for (int i : {0, 2}) expect_operand(c, i, i ? "out" : "grad", {t.size(0), t.size(1), t.size(3), t.size(4)}, plain(t));
  expect_operand(c, 3, "lse", {t.size(0), t.size(3), t.size(1)}, lse_type(plain(t)));
  c.spec[0].dtype = plain(c[arg::qkv]);
  c.spec[0].device = c[arg::qkv].device();
  c.spec[0].shape(c[arg::qkv].sizes());
}
struct Parameters {
  AttentionShape shape;
  Operand dout, qkv, out, dqkv;
};
void run(const Parameters& p, const Pointers& at) {
  attention_backward(p.shape, unpack(at.input(1, p.qkv)), heads_first(at.input(2, p.out)), at.in[3],
                     heads_first(at.input(0, p.dout)), unpack(at.output(0, p.dqkv)), at.workspace);
}
void plan(Call& c) {
  const AttentionShape s = shape_of(c);
  c.plan.workspace = attention_workspace(s, c[arg::qkv].dtype(), true);
  c.plan.set<run>(Parameters{s, c.operand(arg::grad), c.operand(arg::qkv), c.operand(arg::out), c.result()});
}
double flops(const Call& c) { return attention_flops(shape_of(c), true); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "packed_attention_backward(Tensor grad, Tensor qkv, Tensor out, Tensor lse, bool is_causal) -> Tensor",
    .doc = "The gradient of packed_attention for qkv, recomputing the attention weights block by block.",
    .internal = true,
    .samples =
        "packed_attention_backward(randn(2, 5, 2, 4), randn(2, 5, 3, 2, 4), randn(2, 5, 2, 4), rand(2, 2, 5; wide), True)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kFirst();

}  // namespace dyadic::inline v1::ops::packed_attention_backward_op
