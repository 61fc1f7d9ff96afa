#include "ops/expected.h"

namespace dyadic::inline v1::ops::masked_fill_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &mask = a[arg::mask];
  DY_CHECK_AS(TypeError, mask.dtype() == boolean, "masked_fill: the mask is bool: mask is {}", describe(mask));
  expect_number("masked_fill", a[arg::value], plain(self));
  const Tensor number = to(scalar_tensor(a[arg::value]), plain(self)).to(self.device());
  return where(mask, number, self);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "masked_fill(Tensor self, Tensor mask, Scalar value) -> Tensor",
    .doc = "self with a number where mask (bool, broadcast) is true.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "masked_fill(randn(3, 4), mask(3, 4), 1.5)\n"
        "masked_fill(randn(2, 3), mask(3), 0)\n"
        "masked_fill(randn(3), mask(2, 1), 2)",
    .bad = "masked_fill(zeros(2), zeros(2), 1) => masked_fill: the mask is bool: mask is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::masked_fill_op
