#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::pairwise_distance_op {
namespace {

Tensor compose(Args a) {
  Tensor d = add(sub(a[arg::x1], a[arg::x2]), a[arg::eps]);
  return vector_norm(d, a[arg::p], {-1}, a[arg::keepdim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
    .doc = "The p-norm of x1 - x2 + eps along the last dimension.",
    .kind = OpKind::composite,
    .samples =
        "pairwise_distance(randn(2, 3), randn(2, 3))\n"
        "pairwise_distance(randn(3), randn(2, 3), 1.0, 1e-06, True)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::pairwise_distance_op
