#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_matmul_op {
namespace {

Tensor compose(Args a) { return matmul(a[arg::self], a[arg::other]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_matmul(Tensor self, Tensor other) -> Tensor",
    .doc = "matmul.",
    .kind = OpKind::composite,
    .samples = "linalg_matmul(randn(2, 3), randn(3, 2))",
    .skip = "layout_bits: the strides of its operands decide which kernel multiplies",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_matmul_op
