#include "ops/composite.h"

namespace dyadic::inline v1::ops::gaussian_nll_loss_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input], &t = a[arg::target];
  Tensor var = a[arg::var];
  if (!(var.sizes() == x.sizes()) && var.dim() == x.dim() - 1) var = unsqueeze(var, -1);
  DY_CHECK_AS(ValueError, a[arg::eps] > 0, "gaussian_nll_loss: eps is not positive: eps is {}", a[arg::eps]);
  Tensor lifted = maximum(var.detach(), a[arg::eps]);
  var = add(var, sub(lifted, var.detach()));
  Tensor r = mul(add(log(var), div(square(sub(x, t)), var)), 0.5);
  if (a[arg::full]) r = add(r, 0.9189385332046727);
  return reduced("gaussian_nll_loss", r, a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "gaussian_nll_loss(Tensor input, Tensor target, Tensor var, bool full=False, float eps=1e-06, str reduction='mean') -> "
        "Tensor",
    .doc =
        "(log(var) + (input - target)^2 / var) / 2 with var at least eps (its gradient flows all the same); full adds log(2 "
        "pi) / 2.",
    .kind = OpKind::composite,
    .low = 0.3,
    .high = 2,
    .samples =
        "gaussian_nll_loss(randn(2, 3), randn(2, 3), rand(2, 3))\n"
        "gaussian_nll_loss(randn(2, 3), randn(2, 3), rand(2, 1), True, 1e-06, 'none')",
    .bad = "gaussian_nll_loss(zeros(2), zeros(2), ones(2), False, 0.0) => gaussian_nll_loss: eps is not positive: eps is 0",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::gaussian_nll_loss_op
