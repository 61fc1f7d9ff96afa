#include <cmath>

#include "ops/composite.h"

namespace dyadic::inline v1::ops::scaled_dot_product_attention_op {
namespace {

// [..., T, D] as [B, H, T, D] with a last stride of 1.
Tensor four(const Tensor& t) {
  Tensor r = t.dim() == 2 ? t.view({1, 1, t.size(0), t.size(1)}) : t.dim() == 3 ? unsqueeze(t, 0) : t;
  return r.stride(-1) == 1 || r.size(-1) <= 1 ? r : r.contiguous();
}

// Whether only the mathematics fits, not the kernel: values of another width, sizes that broadcast, more dimensions.
bool is_general(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2)) return false;  // neither fits; the kernel's rule says so
  const auto leads = [](const Tensor& t) { return IntList(t.sizes().begin(), size_t(t.dim() - 2)); };
  return q.dim() > 4 || v.size(-1) != k.size(-1) || !(leads(q) == leads(k)) || !(leads(q) == leads(v));
}

Tensor compose(Args a) {
  const Tensor& q = a[arg::query];
  Tensor k = a[arg::key], v = a[arg::value], mask = a.has(arg::attn_mask) ? a[arg::attn_mask] : Tensor();
  for (const Tensor* t : {&q, static_cast<const Tensor*>(&k), static_cast<const Tensor*>(&v)})
    DY_CHECK(t->dim() >= 2, "scaled_dot_product_attention: operands are [..., T, D]: {} is {}",
             t == &q   ? "query"
             : t == &k ? "key"
                       : "value",
             describe(*t));
  bool causal = a[arg::is_causal];
  const int64_t queries = q.size(-2), keys = k.size(-2);
  if (causal && !mask.defined() && queries != keys && v.size(-2) == keys) {  // query i sees keys up to i, whatever their number
    if (queries < keys) {
      k = narrow(k, -2, 0, queries);
      v = narrow(v, -2, 0, queries);
    } else {
      mask = tril(ones({queries, keys}, boolean, q.device()));
      causal = false;
    }
  }
  if (mask.defined() || a[arg::dropout_p] > 0 || is_general(q, k, v)) {
    Tensor weights = call(Op::attention_weights_, q, k, mask, causal, a.arg(arg::scale));
    return matmul(dropout(weights, a[arg::dropout_p]), v);
  }
  double scale =
      a.arg(arg::scale).kind == Arg::Kind::real ? a[arg::scale] : 1 / std::sqrt(double(std::max<int64_t>(q.size(-1), 1)));
  Tensor fq = four(q), fk = four(k), fv = four(v);
  Arg args[] = {fq, fk, fv, causal, scale};
  Tensor out[2];
  call_op(Op::attention_forward_, args, 5, out);
  return out[0].reshape(q.sizes());
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
        "bool "
        "is_causal=False, float? scale=None) -> Tensor",
    .doc =
        "softmax(query key^T scale) value. scale is 1 / sqrt(D) unless given; causal: query i sees keys up to i. "
        "Blocked: the T x T matrix never exists, unless a mask (attention_weights) or dropout of weights asks for "
        "it.",
    .kind = OpKind::composite,
    .samples =
        "scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4))\n"
        "scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4), mask(2, 3, 5))\n"
        "scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4), None, 0.0, True)\n"
        "scaled_dot_product_attention(randn(2, 5, 4), randn(2, 3, 4), randn(2, 3, 4), None, 0.0, True)\n"
        "scaled_dot_product_attention(randn(2, 1, 1, 3, 4), randn(3, 5, 4), randn(3, 5, 2))",
    .bad =
        "scaled_dot_product_attention(zeros(3, 4), zeros(3, 5), zeros(3, 5)) => scaled_dot_product_attention: sizes do not "
        "fit: query is f32[1, 1, 3, 4], key is "
        "f32[1, 1, 3, 5], value is f32[1, 1, 3, 5]; [B, H, T, D] with one B, H and D, keys as many as values",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::scaled_dot_product_attention_op
