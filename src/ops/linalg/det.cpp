#include "ops/common.h"

namespace dyadic::inline v1::ops::det_op {
namespace {

Tensor compose(Args a) { return call(Op::linalg_det_, a[arg::self]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "det(Tensor self) -> Tensor",
    .doc = "The determinants of square matrices: linalg.det.",
    .kind = OpKind::composite,
    .samples =
        "det(randn(3, 3))\n"
        "det(randn(2, 2, 2))",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::det_op
