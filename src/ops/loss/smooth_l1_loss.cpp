#include "ops/composite.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  const double beta = a.real(3);
  DY_CHECK_AS(ValueError, beta >= 0, "smooth_l1_loss: beta is negative: beta is {}", beta);
  Tensor d = abs(sub(a.tensor(0), a.tensor(1)));
  if (beta > 0) d = where(lt(d, beta), mul(square(d), 0.5 / beta), sub(d, 0.5 * beta));
  return reduced("smooth_l1_loss", d, a.text(2));
}

}  // namespace

extern constexpr OpDef smooth_l1_loss_op = {
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

}  // namespace dyadic::inline v1::ops
