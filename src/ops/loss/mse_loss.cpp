#include "ops/composite.h"

namespace dyadic::inline v1::ops::mse_loss_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  warn_of_broadcast("mse_loss", a.tensor(0), a.tensor(1));
  Tensor d = call(Op::squared_difference_, a.tensor(0), a.tensor(1));
  if (!a.has(3)) return reduced("mse_loss", d, a.text(2));
  Tensor r = reduced("mse_loss", mul(d, a.tensor(3)), a.text(2) == "mean" ? "sum" : a.text(2));
  return a.text(2) == "mean" ? div(r, sum(a.tensor(3).expand(d.sizes()))) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "mse_loss(Tensor input, Tensor target, str reduction='mean', Tensor? weight=None) -> Tensor",
    .doc = "(input - target)^2, times weight; mean, sum or none. A weighted mean divides by the weights' sum.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "mse_loss(randn(2, 3), randn(2, 3))\n"
        "mse_loss(randn(2, 3), randn(3), 'none')\n"
        "mse_loss(randn(2, 3), randn(2, 3), 'mean', rand(3))\n"
        "mse_loss(randn(), randn(), 'sum')",
    .bad = "mse_loss(zeros(2), zeros(2), 'avg') => mse_loss: unknown reduction \"avg\"; the known ones are none, mean and sum",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::mse_loss_op
