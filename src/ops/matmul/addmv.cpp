#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops::addmv_op {
namespace {

Tensor compose(Args a) { return add_weighted(a[arg::self], mv(a[arg::mat], a[arg::vec]), a[arg::beta], a[arg::alpha]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .doc = "beta self + alpha mat vec.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .inplace = true,
    .samples = "addmv(randn(2), randn(2, 3), randn(3))",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::addmv_op
