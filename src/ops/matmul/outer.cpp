#include "ops/common.h"

namespace dyadic::inline v1::ops::outer_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::vec2];
  DY_CHECK(x.dim() == 1 && y.dim() == 1, "outer: needs 1-d and 1-d tensors: self is {}, vec2 is {}", describe(x), describe(y));
  return mul(unsqueeze(x, 1), y);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "outer(Tensor self, Tensor vec2) -> Tensor",
    .doc = "All products of two vectors' elements, [n, m].",
    .aliases = "ger",
    .kind = OpKind::composite,
    .samples = "outer(randn(3), randn(4))",
    .bad = "outer(zeros(2, 2), zeros(2)) => outer: needs 1-d and 1-d tensors: self is f32[2, 2], vec2 is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::outer_op
