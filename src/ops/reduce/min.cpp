#include "ops/common.h"

namespace dyadic::inline v1::ops::min_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return amin(t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "min(Tensor self) -> Tensor",
    .doc = "The smallest of all elements; NaN if there is one. Equal ones share the gradient.",
    .kind = OpKind::composite,
    .samples =
        "min(randn(3, 4))\n"
        "min(randn())",
    .bad = "min(zeros(0)) => min: amin: nothing to compare: self is f32[0]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::min_op
