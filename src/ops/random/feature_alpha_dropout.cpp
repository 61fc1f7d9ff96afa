#include "ops/random/masks.h"

namespace dyadic::inline v1::ops::feature_alpha_dropout_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const double p = a[arg::p];
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "feature_alpha_dropout: p is not a probability: p is {}", p);
  if (!a[arg::training]) return x;
  DY_CHECK(x.dim() >= 2, "feature_alpha_dropout: the input has no channels: input is {}", describe(x));
  return alpha_masked("feature_alpha_dropout", x, p, 2);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "feature_alpha_dropout(Tensor input, float p=0.5, bool training=False) -> Tensor",
    .doc = "alpha_dropout of whole channels of [N, C, ...].",
    .kind = OpKind::composite,
    .samples =
        "feature_alpha_dropout(randn(2, 3, 2))\n"
        "feature_alpha_dropout(randn(2, 3, 2), 0.3, True)",
    .bad = "feature_alpha_dropout(zeros(2), 0.5, True) => feature_alpha_dropout: the input has no channels: input is f32[2]",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::feature_alpha_dropout_op
