#include "ops/common.h"

namespace dyadic::inline v1::ops::bmm_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::mat2];
  DY_CHECK(x.dim() == 3 && y.dim() == 3, "bmm: needs 3-d and 3-d tensors: self is {}, mat2 is {}", describe(x), describe(y));
  DY_CHECK(x.size(0) == y.size(0), "bmm: the batches differ: self is {}, mat2 is {}", describe(x), describe(y));
  return matmul(x, y);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "bmm(Tensor self, Tensor mat2) -> Tensor",
    .doc = "The products of two batches of matrices [b, n, m] and [b, m, p].",
    .kind = OpKind::composite,
    .samples = "bmm(randn(2, 3, 4), randn(2, 4, 2))",
    .bad = "bmm(zeros(2, 3, 4), zeros(3, 4, 2)) => bmm: the batches differ: self is f32[2, 3, 4], mat2 is f32[3, 4, 2]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::bmm_op
