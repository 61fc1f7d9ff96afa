#include "ops/common.h"

namespace dyadic::inline v1::ops::matrix_power_op {
namespace {

Tensor compose(Args a) { return call(Op::linalg_matrix_power_, a[arg::self], a[arg::n]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "matrix_power(Tensor self, int n) -> Tensor",
    .doc = "The n-th power of square matrices: linalg.matrix_power.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .samples = "matrix_power(randn(3, 3), 3)",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::matrix_power_op
