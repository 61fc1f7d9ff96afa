#include "ops/composite.h"

namespace dyadic::inline v1::ops::poisson_nll_loss_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input], &t = a[arg::target];
  Tensor r = a[arg::log_input] ? sub(exp(x), mul(t, x)) : sub(x, mul(t, log(add(x, a[arg::eps]))));
  if (a[arg::full]) {
    Tensor large = gt(t, 1.0), s = where(large, t, scalar_tensor(2.0));
    Tensor stirling = add(sub(mul(s, log(s)), s), mul(log(mul(s, 6.283185307179586)), 0.5));
    r = add(r, where(large, stirling, scalar_tensor(0.0)));
  }
  return reduced("poisson_nll_loss", r, a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, float eps=1e-08, str "
        "reduction='mean') -> Tensor",
    .doc =
        "exp(input) - target input, or input - target log(input + eps) without log_input; full adds Stirling's log(target!) "
        "for targets above 1.",
    .kind = OpKind::composite,
    .low = 0.2,
    .high = 3,
    .samples =
        "poisson_nll_loss(randn(2, 3), rand(2, 3))\n"
        "poisson_nll_loss(rand(2, 3), rand(2, 3), False, True, 1e-08, 'sum')",
    .bad =
        "poisson_nll_loss(zeros(2), zeros(2), True, False, 1e-08, 'avg') => poisson_nll_loss: unknown reduction \"avg\"; the "
        "known ones are none, mean and sum",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::poisson_nll_loss_op
