#include "ops/common.h"

namespace dyadic::inline v1::ops::max_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return amax(t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "max(Tensor self) -> Tensor",
    .doc = "The largest of all elements; NaN if there is one. Equal ones share the gradient.",
    .kind = OpKind::composite,
    .samples =
        "max(randn(3, 4))\n"
        "max(randn())",
    .bad = "max(zeros(0)) => max: amax: nothing to compare: self is f32[0]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_op
