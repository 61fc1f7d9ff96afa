#include "ops/composite.h"

namespace dyadic::inline v1::ops::huber_loss_op {
namespace {

Tensor compose(Args a) {
  const double delta = a[arg::delta];
  DY_CHECK_AS(ValueError, delta > 0, "huber_loss: delta is not positive: delta is {}", delta);
  warn_of_broadcast("huber_loss", a[arg::input], a[arg::target]);
  Tensor d = call(Op::smooth_l1_, a[arg::input], a[arg::target], Scalar(delta));
  if (delta != 1) d = mul(d, delta);
  if (!a.has(arg::weight)) return reduced("huber_loss", d, a[arg::reduction]);
  Tensor r = reduced("huber_loss", mul(d, a[arg::weight]), a[arg::reduction] == "mean" ? "sum" : a[arg::reduction]);
  return a[arg::reduction] == "mean" ? div(r, sum(a[arg::weight].expand(d.sizes()))) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor",
    .doc = "With d = |input - target|: d^2 / 2 up to delta, else delta (d - delta / 2); times weight. (Huber 1964.)",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "huber_loss(randn(2, 3), randn(2, 3))\n"
        "huber_loss(randn(2, 3), randn(2, 3), 'sum', 0.3)\n"
        "huber_loss(randn(2, 3), randn(2, 3), 'none', 1.5, rand(2, 3))",
    .bad = "huber_loss(zeros(2), zeros(2), 'mean', 0.0) => huber_loss: delta is not positive: delta is 0",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::huber_loss_op
