#include "ops/composite.h"

namespace dyadic::inline v1::ops::binary_cross_entropy_with_logits_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  DY_CHECK_AS(ValueError, a.tensor(0).sizes() == a.tensor(1).sizes(),
              "binary_cross_entropy_with_logits: sizes differ: input is {}, target is {}", describe(a.tensor(0)),
              describe(a.tensor(1)));
  check_float("binary_cross_entropy_with_logits", a.tensor(0), "input");
  const Tensor &x = a.tensor(0), &t = a.tensor(1);
  Tensor r;
  if (a.has(4)) {
    Tensor weight = add(mul(sub(a.tensor(4), 1.0), t), 1.0);
    r = add(mul(sub(1.0, t), x), mul(softplus_of(neg(x)), weight));
  } else {
    r = call(Op::logit_cross_entropy_terms_, x, t);
  }
  return reduced("binary_cross_entropy_with_logits", a.has(2) ? mul(r, a.tensor(2)) : r, a.text(3));
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', Tensor? "
        "pos_weight=None) -> Tensor",
    .doc = "binary_cross_entropy of sigmoid(input), without overflow; pos_weight multiplies the terms of target.",
    .kind = OpKind::composite,
    .samples =
        "binary_cross_entropy_with_logits(randn(2, 3), rand(2, 3))\n"
        "binary_cross_entropy_with_logits(randn(2, 3), rand(2, 3), rand(3), 'none', rand(3))",
    .bad =
        "binary_cross_entropy_with_logits(zeros(2), zeros(3)) => binary_cross_entropy_with_logits: sizes differ: input is "
        "f32[2], target is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::binary_cross_entropy_with_logits_op
