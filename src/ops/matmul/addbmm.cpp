#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  return add_weighted(*a[0].tensor, sum(bmm(*a[1].tensor, *a[2].tensor), {0}), a[3].scalar, a[4].scalar);
}

}  // namespace

extern constexpr OpDef addbmm_op = {
    .sig = "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .doc = "beta self + alpha times the sum of the products of batch1 and batch2.",
    .kind = OpKind::composite,
    .samples = "addbmm(randn(3, 2), randn(2, 3, 4), randn(2, 4, 2))",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
