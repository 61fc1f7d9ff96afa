#include "ops/common.h"

namespace dyadic::inline v1::ops::matrix_exp_op {
namespace {

Tensor compose(Args a) { return call(Op::linalg_matrix_exp_, a[arg::self]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "matrix_exp(Tensor self) -> Tensor",
    .doc = "The exponential of square matrices: linalg.matrix_exp.",
    .kind = OpKind::composite,
    .samples = "matrix_exp(randn(3, 3))",
    .skip = "threads: those of linalg_matrix_exp, which is tested",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::matrix_exp_op
