#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_lu_factor_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor &t = a[arg::A], x = widened(t);
  const std::vector<Tensor> r = call_all(Op::linalg_lu_factor_ex_, x, a[arg::pivot], false);
  check_factors("linalg.lu_factor", r[2], t);
  return {like(r[0], t), r[1]};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    .doc =
        "A's LU factors in one matrix, with their pivots, for linalg.lu_solve; LinAlgError where U has a zero on its diagonal.",
    .kind = OpKind::composite,
    .samples =
        "linalg_lu_factor(randn(3, 3))\n"
        "linalg_lu_factor(randn(2, 4, 3))",
    .bad =
        "linalg_lu_factor(zeros(2, 2)) => linalg.lu_factor: the matrix is singular: A is f32[2, 2]: element 1 of the diagonal "
        "of "
        "U is zero; use linalg.pinv or linalg.lstsq",
    .skip =
        "second_output: pivots are whole numbers\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_lu_factor_op
