#include "ops/composite.h"

namespace dyadic::inline v1::ops::binary_cross_entropy_with_logits_op {
namespace {

Tensor compose(Args a) {
  DY_CHECK_AS(ValueError, a[arg::input].sizes() == a[arg::target].sizes(),
              "binary_cross_entropy_with_logits: sizes differ: input is {}, target is {}", describe(a[arg::input]),
              describe(a[arg::target]));
  check_float("binary_cross_entropy_with_logits", a[arg::input], "input");
  const Tensor &x = a[arg::input], &t = a[arg::target];
  Tensor r;
  if (a.has(arg::pos_weight)) {
    Tensor weight = add(mul(sub(a[arg::pos_weight], 1.0), t), 1.0);
    r = add(mul(sub(1.0, t), x), mul(softplus_of(neg(x)), weight));
  } else {
    r = call(Op::logit_cross_entropy_terms_, x, t);
  }
  return reduced("binary_cross_entropy_with_logits", a.has(arg::weight) ? mul(r, a[arg::weight]) : r, a[arg::reduction]);
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
