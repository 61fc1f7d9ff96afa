#include "ops/composite.h"

namespace dyadic::inline v1::ops::poisson_nll_loss_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  const Tensor &x = a.tensor(0), &t = a.tensor(1);
  Tensor r = a.boolean(2) ? sub(exp(x), mul(t, x)) : sub(x, mul(t, log(add(x, a.real(4)))));
  if (a.boolean(3)) {
    Tensor large = gt(t, 1.0), s = where(large, t, scalar_tensor(2.0));
    Tensor stirling = add(sub(mul(s, log(s)), s), mul(log(mul(s, 6.283185307179586)), 0.5));
    r = add(r, where(large, stirling, scalar_tensor(0.0)));
  }
  return reduced("poisson_nll_loss", r, a.text(5));
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
