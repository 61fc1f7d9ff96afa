#include <algorithm>

#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::cosine_similarity_op {
namespace {

Tensor compose(Args a) {
  check_float("cosine_similarity", a[arg::x1], "x1");
  check_float("cosine_similarity", a[arg::x2], "x2");
  auto size = [&](const Tensor& t, int64_t dim) { return maximum(vector_norm(t, 2, {dim}, true), a[arg::eps]); };
  Tensor x = a[arg::x1], y = a[arg::x2];
  if (x.dim() == 0 && y.dim() == 0)  // vectors of one
    return call(Op::cosine_similarity_, unsqueeze(x, 0), unsqueeze(y, 0), a[arg::dim], a[arg::eps]);
  const int64_t dims = std::max(x.dim(), y.dim()), back = wrap_dim("cosine_similarity", a[arg::dim], dims) - dims;
  const int64_t along[] = {back};
  if (x.dim() < -back || y.dim() < -back || x.size(back) != y.size(back)) {  // what broadcasts counts as often in its norm
    const std::vector<Tensor> both = broadcast_tensors(std::vector<Tensor>{x, y});
    x = both[0];
    y = both[1];
  }
  return sum(call(Op::quotient_product_, x, size(x, back), div(y, size(y, back))), along);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    .doc = "The sum of x1 x2 along dim over the product of their norms, each at least eps.",
    .kind = OpKind::composite,
    .samples =
        "cosine_similarity(randn(2, 3), randn(2, 3))\n"
        "cosine_similarity(randn(4), randn(2, 4), -1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cosine_similarity_op
