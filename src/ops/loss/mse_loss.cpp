#include "ops/composite.h"

namespace dyadic::inline v1::ops::mse_loss_op {
namespace {

Tensor compose(Args a) {
  warn_of_broadcast("mse_loss", a[arg::input], a[arg::target]);
  Tensor d = call(Op::squared_difference_, a[arg::input], a[arg::target]);
  if (!a.has(arg::weight)) return reduced("mse_loss", d, a[arg::reduction]);
  Tensor r = reduced("mse_loss", mul(d, a[arg::weight]), a[arg::reduction] == "mean" ? "sum" : a[arg::reduction]);
  return a[arg::reduction] == "mean" ? div(r, sum(a[arg::weight].expand(d.sizes()))) : r;
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
