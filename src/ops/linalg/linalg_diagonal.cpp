#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_diagonal_op {
namespace {

Tensor compose(Args a) { return diagonal(a[arg::A], a[arg::offset], a[arg::dim1], a[arg::dim2]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    .doc = "A view of a diagonal of matrices [..., m, n] as the last dimension.",
    .kind = OpKind::composite,
    .samples =
        "linalg_diagonal(randn(2, 3, 4))\n"
        "linalg_diagonal(randn(2, 3, 4), 1, 0, 2)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_diagonal_op
