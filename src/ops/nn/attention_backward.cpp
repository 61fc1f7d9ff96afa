#include "ops/expected.h"
#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::attention_backward_op {
namespace {

AttentionOperands operands(const Call& c) {
  const Tensor &q = c.tensor(1), &k = c.tensor(2);
  return {{q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), c.boolean(6), float(c.real(7))}, q, k, c.tensor(3)};
}
void infer(Call& c) {
  const Tensor &q = c.tensor(1), &k = c.tensor(2);
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
int64_t workspace(const Call& c) { return attention_workspace(operands(c).shape, c.tensor(1).dtype(), true); }
void forward(Call& c) {
  attention_backward(operands(c), c.tensor(4), c.tensor(5), c.tensor(0), c.out[0], c.out[1], c.out[2], c.workspace);
}
double flops(const Call& c) { return attention_flops(operands(c).shape, true); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor out, Tensor lse, bool is_causal, float "
        "scale) -> (Tensor, Tensor, Tensor)",
    .doc = "The gradients of attention_forward for query, key and value.",
    .samples =
        "attention_backward(randn(2, 2, 3, 4), randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4), randn(2, 2, 3, 4), "
        "rand(2, 2, 3; wide), True, 0.5)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::attention_backward_op
