#include "ops/common.h"

namespace dyadic::inline v1::ops::masked_fill_tensor_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &mask = a[arg::mask], &value = a[arg::value];
  DY_CHECK_AS(TypeError, mask.dtype() == boolean, "masked_fill: the mask is bool: mask is {}", describe(mask));
  DY_CHECK(value.dim() == 0, "masked_fill: the value is a number or a 0-d tensor: value is {}", describe(value));
  return where(mask, to(value, plain(self)), self);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "masked_fill.tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    .doc = "self with the 0-d tensor value where mask (bool, broadcast) is true.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples = "masked_fill_tensor(randn(3, 4), mask(4), randn())",
    .bad =
        "masked_fill_tensor(zeros(2), mask(2), zeros(2)) => masked_fill: the value is a number or a 0-d tensor: value is "
        "f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::masked_fill_tensor_op
