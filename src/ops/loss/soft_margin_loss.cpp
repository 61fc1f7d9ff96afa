#include "ops/composite.h"

namespace dyadic::inline v1::ops::soft_margin_loss_op {
namespace {

Tensor compose(Args a) {
  check_float("soft_margin_loss", a[arg::input], "input");
  return reduced("soft_margin_loss", softplus_of(neg(mul(a[arg::target], a[arg::input]))), a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "soft_margin_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
    .doc = "log(1 + exp(-target input)), without overflow.",
    .kind = OpKind::composite,
    .samples =
        "soft_margin_loss(randn(2, 3), ones(2, 3))\n"
        "soft_margin_loss(randn(2, 3), randn(2, 3), 'none')",
    .bad =
        "soft_margin_loss(zeros(2), zeros(2), 'avg') => soft_margin_loss: unknown reduction \"avg\"; the known ones are none, "
        "mean and sum",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::soft_margin_loss_op
