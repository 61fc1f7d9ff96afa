#include "ops/common.h"

namespace dyadic::inline v1::ops::lu_solve_op {
namespace {

Tensor compose(Args a) { return call(Op::linalg_lu_solve_, a[arg::LU_data], a[arg::LU_pivots], a[arg::self], true, false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    .doc = "X of A X = self from the factors of A: linalg.lu_solve.",
    .kind = OpKind::composite,
    .samples = "lu_solve(randn(3, 2), spd(3, 3), indices(4; 3))",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::lu_solve_op
