#include "ops/common.h"

namespace dyadic::inline v1::ops::mm_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::mat2];
  DY_CHECK(x.dim() == 2 && y.dim() == 2, "mm: needs 2-d and 2-d tensors: self is {}, mat2 is {}", describe(x), describe(y));
  return matmul(x, y);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "mm(Tensor self, Tensor mat2) -> Tensor",
    .doc = "The product of two matrices; no broadcasting.",
    .kind = OpKind::composite,
    .samples = "mm(randn(2, 3), randn(3, 4))",
    .bad = "mm(zeros(2), zeros(2, 2)) => mm: needs 2-d and 2-d tensors: self is f32[2], mat2 is f32[2, 2]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::mm_op
