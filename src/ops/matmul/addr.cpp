#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops::addr_op {
namespace {

Tensor compose(Args a) { return add_weighted(a[arg::self], outer(a[arg::vec1], a[arg::vec2]), a[arg::beta], a[arg::alpha]); }

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
