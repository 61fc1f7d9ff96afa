#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops::addr_op {
namespace {

Tensor compose(const Arg* a) { return add_weighted(*a[0].tensor, outer(*a[1].tensor, *a[2].tensor), a[3].scalar, a[4].scalar); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .doc = "beta self + alpha vec1 vec2^T.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .inplace = true,
    .samples = "addr(randn(2, 3), randn(2), randn(3))",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::addr_op
