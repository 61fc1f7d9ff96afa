#include "ops/composite.h"

namespace dyadic::inline v1::ops::triplet_margin_loss_op {
namespace {

Tensor compose(Args a) {
  const auto distance = [&](TensorArg x, TensorArg y) {
    return call(Op::pairwise_distance_, a[x], a[y], a[arg::p], a[arg::eps], false);
  };
  Tensor far = distance(arg::anchor, arg::negative);
  if (a[arg::swap]) far = minimum(far, distance(arg::positive, arg::negative));
  return reduced("triplet_margin_loss", at_least_zero(add(sub(distance(arg::anchor, arg::positive), far), a[arg::margin])),
                 a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, "
        "bool swap=False, str reduction='mean') -> Tensor",
    .doc =
        "max(0, margin + d(anchor, positive) - d(anchor, negative)) with pairwise_distance d; swap: the nearer of anchor and "
        "positive stands against negative. (Balntas et al. 2016.)",
    .kind = OpKind::composite,
    .samples =
        "triplet_margin_loss(randn(2, 3), randn(2, 3), randn(2, 3))\n"
        "triplet_margin_loss(randn(2, 3), randn(2, 3), randn(2, 3), 0.5, 1.0, 1e-06, True, 'none')",
    .bad =
        "triplet_margin_loss(zeros(2, 2), zeros(2, 2), zeros(2, 2), 1.0, 2.0, 1e-06, False, 'avg') => triplet_margin_loss: "
        "unknown reduction \"avg\"; the known ones are none, mean and sum",
    .skip = "integer_values: differences of unsigned numbers wrap around, as PyTorch has them",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::triplet_margin_loss_op
