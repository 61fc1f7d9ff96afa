#include <cmath>

#include "ops/composite.h"

namespace dyadic::inline v1::ops {
namespace {

// [..., T, D] as [B, H, T, D] with a last stride of 1.
Tensor four(const Tensor& t) {
  Tensor r = t.dim() == 2 ? t.view({1, 1, t.size(0), t.size(1)}) : t.dim() == 3 ? unsqueeze(t, 0) : t;
  return r.stride(-1) == 1 || r.size(-1) <= 1 ? r : r.contiguous();
}

Tensor compose(const Arg* a) {
  const Tensor& q = *a[0].tensor;
  for (int i = 0; i < 3; ++i)
    DY_CHECK(a[i].tensor->dim() >= 2 && a[i].tensor->dim() <= 4,
             "scaled_dot_product_attention: operands are [T, D], [H, T, D] or [B, H, T, D]: {} is {}",
             i == 0   ? "query"
             : i == 1 ? "key"
                      : "value",
             describe(*a[i].tensor));
  const bool masked = a[3].kind == Arg::Kind::tensor, causal = a[5].boolean;
  if (masked || a[4].real > 0) {
    Tensor weights = call(Op::attention_weights_, q, *a[1].tensor, masked ? *a[3].tensor : Tensor(), causal, a[6]);
    return matmul(dropout(weights, a[4].real), *a[2].tensor);
  }
  double scale = a[6].kind == Arg::Kind::real ? a[6].real : 1 / std::sqrt(double(std::max<int64_t>(q.size(-1), 1)));
  Tensor fq = four(q), fk = four(*a[1].tensor), fv = four(*a[2].tensor);
  Arg args[] = {fq, fk, fv, causal, scale};
  Tensor out[2];
  call_op(Op::attention_forward_, args, 5, out);
  return out[0].reshape(q.sizes());
}

}  // namespace

extern constexpr OpDef scaled_dot_product_attention_op = {
    .sig =
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
        "bool "
        "is_causal=False, float? scale=None) -> Tensor",
    .doc =
        "softmax(query key^T scale) value. scale is 1 / sqrt(D) unless given; causal: query i sees keys up to i + (keys - "
        "queries). Blocked: the T x T matrix never exists, unless a mask (attention_weights) or dropout of weights asks for "
        "it.",
    .kind = OpKind::composite,
    .samples =
        "scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4))\n"
        "scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4), mask(2, 3, 5))",
    .bad =
        "scaled_dot_product_attention(zeros(3, 4), zeros(3, 5), zeros(3, 5)) => scaled_dot_product_attention: sizes do not "
        "fit: query is f32[1, 1, 3, 4], key is "
        "f32[1, 1, 3, 5], value is f32[1, 1, 3, 5]; [B, H, T, D] with one B, H and D, keys as many as values",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
