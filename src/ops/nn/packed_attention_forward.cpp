#include "ops/nn/attention.h"

namespace dyadic::inline v1::ops::packed_attention_forward_op {
namespace {

AttentionShape shape(const Tensor& qkv, bool causal) {
  return {qkv.size(0), qkv.size(3), qkv.size(1), qkv.size(1), qkv.size(4), causal, 0};
}
void infer(Call& c) {
  const Tensor& t = c.tensor(0);
  check_float("packed_attention", t, "qkv");
  DY_CHECK(t.dim() == 5 && t.size(2) == 3, "packed_attention: qkv must be [B, T, 3, H, D]: qkv is {}", describe(t));
  c.nout = 2;
  c.spec[0].dtype = plain(t);
  c.spec[0].device = c.spec[1].device = t.device();
  int64_t out[] = {t.size(0), t.size(1), t.size(3), t.size(4)}, lse[] = {t.size(0), t.size(3), t.size(1)};
  c.spec[0].shape(out);
  c.spec[1].dtype = lse_type(plain(t));
  c.spec[1].shape(lse);
}
int64_t workspace(const Call& c) { return attention_workspace(shape(c.tensor(0), c.boolean(1)), c.tensor(0).dtype(), false); }
void forward(Call& c) { attention_forward(unpack(c.tensor(0), c.boolean(1)), heads_first(c.out[0]), c.out[1], c.workspace); }
void backward(Grad& g) {
  if (!GradMode::enabled()) {
    g.set(0, call(Op::packed_attention_backward_, g.g().contiguous(), g.in(0), g.out(0), g.out(1), g.boolean(1)));
    return;
  }
  Tensor packed = g.in(0).permute({2, 0, 3, 1, 4}), d[3];
  AttentionOperands a = unpack(g.in(0).detach(), g.boolean(1));
  a.q = packed[0], a.k = packed[1], a.v = packed[2];
  attention_gradients_in_ops(a, g.g().transpose(1, 2), &d[0], &d[1], &d[2]);
  g.set(0, stack(d, 0).permute({1, 3, 0, 2, 4}));
}
double flops(const Call& c) { return attention_flops(shape(c.tensor(0), c.boolean(1)), false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "packed_attention_forward(Tensor qkv, bool is_causal) -> (Tensor, Tensor)",
    .doc = "packed_attention, and the log of each query's sum of exponentials [B, H, T].",
    .amp = Amp::lower,
    .samples = "packed_attention_forward(randn(2, 5, 3, 2, 4), True)\npacked_attention_forward(randn(1, 3, 3, 1, 2), False)",
    .skip = "second_output: lse is not differentiated",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(0) | out(0) | out(1)},
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::packed_attention_forward_op
