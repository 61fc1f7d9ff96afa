#include "ops/common.h"

namespace dyadic::inline v1::ops::packed_attention_op {
namespace {

Tensor compose(Args a) {
  Arg args[] = {a[arg::qkv], a[arg::is_causal]};
  Tensor out[2];
  call_op(Op::packed_attention_forward_, args, 2, out);
  return out[0];
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "packed_attention(Tensor qkv, bool is_causal=True) -> Tensor",
    .doc =
        "scaled_dot_product_attention on packed queries, keys and values [B, T, 3, H, D]: [B, T, H, D], with no copy or "
        "transpose on the way.",
    .kind = OpKind::composite,
    .samples = "packed_attention(randn(2, 5, 3, 2, 4), True)",
    .bad =
        "packed_attention(zeros(2, 5, 4), True) => packed_attention: qkv must be [B, T, 3, H, D]: qkv is f32[2, "
        "5, 4]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::packed_attention_op
