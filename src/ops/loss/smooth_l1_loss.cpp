#include "ops/composite.h"

namespace dyadic::inline v1::ops::smooth_l1_loss_op {
namespace {

Tensor compose(Args a) {
  const double beta = a[arg::beta];
  DY_CHECK_AS(ValueError, beta >= 0, "smooth_l1_loss: beta is negative: beta is {}", beta);
  const Tensor &x = a[arg::input], &y = a[arg::target];
  warn_of_broadcast("smooth_l1_loss", a[arg::input], a[arg::target]);
  return reduced("smooth_l1_loss", beta > 0 ? call(Op::smooth_l1_, x, y, Scalar(beta)) : abs(sub(x, y)), a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "smooth_l1_loss(Tensor input, Tensor target, str reduction='mean', float beta=1.0) -> Tensor",
    .doc = "With d = |input - target|: d^2 / (2 beta) below beta, else d - beta / 2. (Girshick 2015.)",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "smooth_l1_loss(randn(2, 3), randn(2, 3))\n"
        "smooth_l1_loss(randn(2, 3), randn(2, 3), 'sum', 0.3)\n"
        "smooth_l1_loss(randn(2, 3), randn(2, 3), 'none', 0.0)",
    .bad = "smooth_l1_loss(zeros(2), zeros(2), 'mean', -1.0) => smooth_l1_loss: beta is negative: beta is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::smooth_l1_loss_op
