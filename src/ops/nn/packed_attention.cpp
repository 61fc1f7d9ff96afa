#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  Tensor p = a[0].tensor->permute({2, 0, 3, 1, 4});
  return scaled_dot_product_attention(p[0], p[1], p[2], a[1].boolean).transpose(1, 2).contiguous();
}

}  // namespace

extern constexpr OpDef packed_attention_op = {
    .sig = "packed_attention(Tensor qkv, bool is_causal=True) -> Tensor",
    .doc = "",
    .kind = OpKind::composite,
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
