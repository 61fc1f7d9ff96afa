#include <cmath>
#include <limits>

#include "ops/composite.h"

namespace dyadic::inline v1::ops::attention_weights_op {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// True where a query must not see a key; undefined when the mask adds to the scores or there is none.
Tensor hidden(const Tensor& q, const Tensor& k, const Tensor& mask, bool causal) {
  if (!causal) return mask.defined() && mask.dtype() == boolean ? logical_not(mask) : Tensor();
  const int64_t queries = q.size(-2), keys = k.size(-2);
  return logical_not(tril(ones({queries, keys}, boolean, q.device()), keys - queries));
}

Tensor compose(Args a) {
  const Tensor &q = a[arg::query], &k = a[arg::key], mask = a.has(arg::attn_mask) ? a[arg::attn_mask] : Tensor();
  const bool causal = a[arg::is_causal];
  check_float("attention_weights", q, "query");
  DY_CHECK(q.dim() >= 2 && k.dim() >= 2 && q.size(-1) == k.size(-1),
           "attention_weights: sizes do not fit: query is {}, key is {}; [..., T, D] with one D", describe(q), describe(k));
  DY_CHECK(!mask.defined() || !causal,
           "attention_weights: a mask and is_causal exclude each other: attn_mask is {}; add the causal mask to it",
           describe(mask));
  const double scale = a.has(arg::scale) ? a[arg::scale] : 1 / std::sqrt(double(std::max<int64_t>(q.size(-1), 1)));
  Tensor scores = matmul(mul(q, scale), k.transpose(-2, -1));
  if (!mask.defined() && !causal) return softmax(scores, -1);
  const Tensor hide = hidden(q, k, mask, causal);
  const int64_t last[] = {-1};
  const Tensor blind = hide.defined() ? all(hide, last, true) : eq(amax(mask, last, true), -kInf);
  scores = hide.defined() ? masked_fill(scores, hide, -kInf) : add(scores, mask);
  return masked_fill(softmax(masked_fill(scores, blind, 0), -1), blind, 0);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "attention_weights(Tensor query, Tensor key, Tensor? attn_mask=None, bool is_causal=False, float? scale=None) -> "
        "Tensor",
    .doc =
        "softmax(query key^T scale + attn_mask) over the keys: [..., T, keys]. A bool mask is True where a query sees a key. A "
        "query that sees none has weights 0.",
    .kind = OpKind::composite,
    .samples =
        "attention_weights(randn(2, 3, 4), randn(2, 5, 4))\n"
        "attention_weights(randn(2, 3, 4), randn(2, 5, 4), mask(3, 5))\n"
        "attention_weights(randn(2, 3, 4), randn(2, 5, 4), randn(2, 3, 5), False, 0.25)\n"
        "attention_weights(randn(3, 4), randn(5, 4), None, True)",
    .bad =
        "attention_weights(zeros(3, 4), zeros(3, 5)) => attention_weights: sizes do not fit: query is f32[3, 4], key is f32[3, "
        "5]; [..., T, D] with one D\n"
        "attention_weights(zeros(3, 4), zeros(3, 4), zeros(3, 3), True) => attention_weights: a mask and is_causal exclude "
        "each "
        "other: attn_mask is f32[3, 3]; add the causal mask to it",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::attention_weights_op
