#include "ops/composite.h"

namespace dyadic::inline v1::ops::multilabel_soft_margin_loss_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input], &t = a[arg::target];
  check_float("multilabel_soft_margin_loss", a[arg::input], "input");
  Tensor r = add(mul(t, softplus_of(neg(x))), mul(sub(1.0, t), softplus_of(x)));
  const int64_t last[] = {-1};
  return reduced("multilabel_soft_margin_loss", mean(a.has(arg::weight) ? mul(r, a[arg::weight]) : r, last), a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
    .doc = "The mean over the last dimension of binary_cross_entropy_with_logits, times weight.",
    .kind = OpKind::composite,
    .samples =
        "multilabel_soft_margin_loss(randn(2, 3), rand(2, 3))\n"
        "multilabel_soft_margin_loss(randn(2, 3), rand(2, 3), rand(3), 'none')",
    .bad =
        "multilabel_soft_margin_loss(zeros(2, 2), zeros(2, 2), None, 'avg') => multilabel_soft_margin_loss: unknown reduction "
        "\"avg\"; the known ones are none, mean and sum",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::multilabel_soft_margin_loss_op
