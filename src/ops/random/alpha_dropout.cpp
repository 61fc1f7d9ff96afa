#include "ops/random/masks.h"

namespace dyadic::inline v1::ops::alpha_dropout_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const double p = a[arg::p];
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "alpha_dropout: p is not a probability: p is {}", p);
  return a[arg::training] ? alpha_masked("alpha_dropout", x, p, x.dim()) : x;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "alpha_dropout(Tensor input, float p=0.5, bool training=False) -> Tensor",
    .doc =
        "In training elements become SELU's lower limit with probability p, and the result is scaled and shifted to keep mean "
        "and variance. (Klambauer et al. 2017.)",
    .kind = OpKind::composite,
    .samples =
        "alpha_dropout(randn(2, 3))\n"
        "alpha_dropout(randn(2, 3), 0.3, True)",
    .bad = "alpha_dropout(zeros(2), 1.5) => alpha_dropout: p is not a probability: p is 1.5",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::alpha_dropout_op
