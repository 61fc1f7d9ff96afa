#include "ops/composite.h"

namespace dyadic::inline v1::ops::multilabel_soft_margin_loss_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  const Tensor &x = a.tensor(0), &t = a.tensor(1);
  check_float("multilabel_soft_margin_loss", a.tensor(0), "input");
  Tensor r = add(mul(t, softplus_of(neg(x))), mul(sub(1.0, t), softplus_of(x)));
  const int64_t last[] = {-1};
  return reduced("multilabel_soft_margin_loss", mean(a.has(2) ? mul(r, a.tensor(2)) : r, last), a.text(3));
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
