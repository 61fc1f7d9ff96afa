#include <cmath>

#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor &q = *a[0].tensor, &k = *a[1].tensor, &v = *a[2].tensor;
  double scale = a[4].kind == Arg::Kind::real ? a[4].real : 1 / std::sqrt(double(q.size(-1)));
  Tensor s = mul(matmul(q, k.transpose(-1, -2)), scale);
  if (a[3].boolean) s = where(tril(ones({q.size(-2), k.size(-2)}), k.size(-2) - q.size(-2)), s, scalar_tensor(-INFINITY));
  return matmul(softmax(s), v);
}

}  // namespace

extern constexpr OpDef scaled_dot_product_attention_op = {
    .sig =
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, bool is_causal=False, float? scale=None) -> "
        "Tensor",
    .doc = "softmax(query key^T scale) value",
    .kind = OpKind::composite,
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
