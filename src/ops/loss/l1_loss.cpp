#include "ops/composite.h"

namespace dyadic::inline v1::ops::l1_loss_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  warn_of_broadcast("l1_loss", a.tensor(0), a.tensor(1));
  Tensor d = abs(sub(a.tensor(0), a.tensor(1)));
  if (!a.has(3)) return reduced("l1_loss", d, a.text(2));
  Tensor r = reduced("l1_loss", mul(d, a.tensor(3)), a.text(2) == "mean" ? "sum" : a.text(2));
  return a.text(2) == "mean" ? div(r, sum(a.tensor(3).expand(d.sizes()))) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "l1_loss(Tensor input, Tensor target, str reduction='mean', Tensor? weight=None) -> Tensor",
    .doc = "|input - target|, times weight; mean, sum or none. A weighted mean divides by the weights' sum.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "l1_loss(randn(2, 3), randn(2, 3))\n"
        "l1_loss(randn(2, 3), randn(3), 'none')\n"
        "l1_loss(randn(2, 3), randn(2, 3), 'sum', rand(3))",
    .bad = "l1_loss(zeros(2), zeros(2), 'avg') => l1_loss: unknown reduction \"avg\"; the known ones are none, mean and sum",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::l1_loss_op
