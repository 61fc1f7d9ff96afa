#include "ops/composite.h"

namespace dyadic::inline v1::ops::hinge_embedding_loss_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input], &t = a[arg::target];
  const auto number = [&](double value) {  // integers stay what they are, with a margin in their dtype
    const Tensor n = scalar_tensor(value);
    return x.dtype().is_integer() ? to(n, x.dtype()) : n;
  };
  const Tensor none = number(0), far = where(ne(t, 1.0), at_least_zero(sub(number(a[arg::margin]), x)), none);
  return reduced("hinge_embedding_loss", add(far, where(ne(t, -1.0), x, none)), a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, str reduction='mean') -> Tensor",
    .doc = "input where target is 1, max(0, margin - input) where it is -1.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "hinge_embedding_loss(randn(2, 3), ones(2, 3))\n"
        "hinge_embedding_loss(randn(2, 3), zeros(2, 3), 0.7, 'none')",
    .bad =
        "hinge_embedding_loss(zeros(2), zeros(2), 1.0, 'avg') => hinge_embedding_loss: unknown reduction \"avg\"; the known "
        "ones are none, mean and sum",
    .skip = "integer_values: unsigned numbers wrap around on the way, as PyTorch has them",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::hinge_embedding_loss_op
