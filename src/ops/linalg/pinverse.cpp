#include "ops/common.h"

namespace dyadic::inline v1::ops::pinverse_op {
namespace {

Tensor compose(Args a) { return call(Op::linalg_pinv_, a[arg::self], Arg(), a[arg::rcond], false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "pinverse(Tensor self, float rcond=1e-15) -> Tensor",
    .doc = "The Moore-Penrose inverses of matrices: linalg.pinv with rtol = rcond.",
    .kind = OpKind::composite,
    .samples = "pinverse(randn(3, 4))",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::pinverse_op
