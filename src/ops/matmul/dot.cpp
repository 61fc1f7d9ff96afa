#include "ops/common.h"

namespace dyadic::inline v1::ops::dot_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::tensor];
  DY_CHECK(x.dim() == 1 && y.dim() == 1, "dot: needs 1-d and 1-d tensors: self is {}, tensor is {}", describe(x), describe(y));
  return matmul(x, y);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "dot(Tensor self, Tensor tensor) -> Tensor",
    .doc = "The sum of the products of two vectors.",
    .kind = OpKind::composite,
    .samples = "dot(randn(7), randn(7))",
    .bad = "dot(zeros(2, 2), zeros(2)) => dot: needs 1-d and 1-d tensors: self is f32[2, 2], tensor is f32[2]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::dot_op
