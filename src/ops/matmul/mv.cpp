#include "ops/common.h"

namespace dyadic::inline v1::ops::mv_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::vec];
  DY_CHECK(x.dim() == 2 && y.dim() == 1, "mv: needs 2-d and 1-d tensors: self is {}, vec is {}", describe(x), describe(y));
  return matmul(x, y);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "mv(Tensor self, Tensor vec) -> Tensor",
    .doc = "The product of a matrix and a vector.",
    .kind = OpKind::composite,
    .samples = "mv(randn(2, 3), randn(3))",
    .bad = "mv(zeros(2), zeros(2)) => mv: needs 2-d and 1-d tensors: self is f32[2], vec is f32[2]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::mv_op
