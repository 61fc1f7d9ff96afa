#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops::baddbmm_op {
namespace {

Tensor compose(Args a) { return add_weighted(a[arg::self], bmm(a[arg::batch1], a[arg::batch2]), a[arg::beta], a[arg::alpha]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .doc = "beta self + alpha batch1 batch2, batch by batch.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .inplace = true,
    .samples = "baddbmm(randn(2, 3, 2), randn(2, 3, 4), randn(2, 4, 2))",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::baddbmm_op
