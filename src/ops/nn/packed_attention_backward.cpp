#include "ops/expected.h"
#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::packed_attention_backward_op {
namespace {

AttentionShape shape(const Call& c) {
  const Tensor& t = c.tensor(1);
  return {t.size(0), t.size(3), t.size(1), t.size(1), t.size(4), c.boolean(4), 0};
}
void infer(Call& c) {
  const Tensor& t = c.tensor(1);
  check_float(c.name, t, "qkv");
  DY_CHECK(t.dim() == 5 && t.size(2) == 3, "{}: qkv must be [B, T, 3, H, D]: qkv is {}", c.name, describe(t));
  for (int i : {0, 2}) expect_operand(c, i, i ? "out" : "grad", {t.size(0), t.size(1), t.size(3), t.size(4)}, plain(t));
  expect_operand(c, 3, "lse", {t.size(0), t.size(3), t.size(1)}, lse_type(plain(t)));
  c.spec[0].dtype = plain(c.tensor(1));
  c.spec[0].device = c.tensor(1).device();
  c.spec[0].shape(c.tensor(1).sizes());
}
int64_t workspace(const Call& c) { return attention_workspace(shape(c), plain(c.tensor(1)), true); }
void forward(Call& c) {
  AttentionOperands d = unpack(c.out[0], c.boolean(4));
  attention_backward(unpack(c.tensor(1), c.boolean(4)), heads_first(c.tensor(2)), c.tensor(3), heads_first(c.tensor(0)), d.q,
                     d.k, d.v, c.workspace);
}
double flops(const Call& c) { return attention_flops(shape(c), true); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "packed_attention_backward(Tensor grad, Tensor qkv, Tensor out, Tensor lse, bool is_causal) -> Tensor",
    .doc = "The gradient of packed_attention for qkv, recomputing the attention weights block by block.",
    .samples =
        "packed_attention_backward(randn(2, 5, 2, 4), randn(2, 5, 3, 2, 4), randn(2, 5, 2, 4), rand(2, 2, 5; wide), True)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::packed_attention_backward_op
