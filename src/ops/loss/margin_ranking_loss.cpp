#include "ops/composite.h"

namespace dyadic::inline v1::ops::margin_ranking_loss_op {
namespace {

Tensor compose(Args a) {
  const Tensor d = mul(neg(a[arg::target]), sub(a[arg::input1], a[arg::input2]));  // unsigned integers wrap around here
  return reduced("margin_ranking_loss", at_least_zero(add(d, a[arg::margin])), a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str reduction='mean') -> Tensor",
    .doc = "max(0, margin - target (input1 - input2)).",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "margin_ranking_loss(randn(3), randn(3), ones(3))\n"
        "margin_ranking_loss(randn(2, 3), randn(2, 3), ones(3), 0.5, 'none')",
    .bad =
        "margin_ranking_loss(zeros(2), zeros(2), ones(2), 1.0, 'avg') => margin_ranking_loss: unknown reduction \"avg\"; the "
        "known ones are none, mean and sum",
    .skip = "integer_values: unsigned numbers wrap around on the way, as PyTorch has them",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::margin_ranking_loss_op
