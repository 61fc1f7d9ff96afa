#include "ops/composite.h"

namespace dyadic::inline v1::ops::l1_loss_op {
namespace {

Tensor compose(Args a) {
  warn_of_broadcast("l1_loss", a[arg::input], a[arg::target]);
  Tensor d = abs(sub(a[arg::input], a[arg::target]));
  if (!a.has(arg::weight)) return reduced("l1_loss", d, a[arg::reduction]);
  Tensor r = reduced("l1_loss", mul(d, a[arg::weight]), a[arg::reduction] == "mean" ? "sum" : a[arg::reduction]);
  return a[arg::reduction] == "mean" ? div(r, sum(a[arg::weight].expand(d.sizes()))) : r;
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
