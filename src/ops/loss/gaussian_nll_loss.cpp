#include "ops/composite.h"

namespace dyadic::inline v1::ops::gaussian_nll_loss_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  const Tensor &x = a.tensor(0), &t = a.tensor(1);
  Tensor var = a.tensor(2);
  if (!(var.sizes() == x.sizes()) && var.dim() == x.dim() - 1) var = unsqueeze(var, -1);
  DY_CHECK_AS(ValueError, a.real(4) > 0, "gaussian_nll_loss: eps is not positive: eps is {}", a.real(4));
  Tensor lifted = maximum(var.detach(), a.real(4));
  var = add(var, sub(lifted, var.detach()));
  Tensor r = mul(add(log(var), div(square(sub(x, t)), var)), 0.5);
  if (a.boolean(3)) r = add(r, 0.9189385332046727);
  return reduced("gaussian_nll_loss", r, a.text(5));
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
