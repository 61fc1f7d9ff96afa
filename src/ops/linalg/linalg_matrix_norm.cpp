#include "ops/linalg/norms.h"

namespace dyadic::inline v1::ops::linalg_matrix_norm_op {
namespace {

Tensor compose(Args a) {
  return matrix_norm("linalg.matrix_norm", in_dtype(a[arg::self], a.arg(arg::dtype)), a[arg::ord].real(),
                     ints_of(a.arg(arg::dim)), a[arg::keepdim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> "
        "Tensor",
    .doc =
        "Norms of matrices along two dimensions: 1 the largest sum of absolute values of a column, inf of a row, 2 the largest "
        "singular value; -1, -inf, -2 the smallest.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "linalg_matrix_norm(randn(3, 4), 1)\n"
        "linalg_matrix_norm(randn(2, 3, 4), -1, [0, 2], True)\n"
        "linalg_matrix_norm(randn(2, 3, 4), 2)\n"
        "linalg_matrix_norm(randn(3, 4, 2), -2, [1, 0], True)",
    .bad =
        "linalg_matrix_norm(zeros(2, 2), 3) => linalg.matrix_norm: matrices have no such norm: ord is 3; the known ones are "
        "fro, "
        "nuc, 1, 2 and inf, and -1, -2, -inf\n"
        "linalg_matrix_norm(zeros(2, 2), 1, [0, 0]) => linalg.matrix_norm: two different dimensions are needed: self is f32[2, "
        "2], dim is [0, 0]",
    .skip = "layout_bits: sums add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_matrix_norm_op
