#include "ops/linalg/norms.h"

namespace dyadic::inline v1::ops::linalg_matrix_norm_str_ord_op {
namespace {

Tensor compose(Args a) {
  return matrix_norm("linalg.matrix_norm", in_dtype(a[arg::self], a.arg(arg::dtype)),
                     std::string_view(a.arg(arg::ord).text, a.arg(arg::ord).n), ints_of(a.arg(arg::dim)), a[arg::keepdim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? "
        "dtype=None) "
        "-> Tensor",
    .doc = "Norms of matrices along two dimensions: fro, the root of the sum of squares, or nuc, the sum of singular values.",
    .kind = OpKind::composite,
    .samples =
        "linalg_matrix_norm_str_ord(randn(3, 4))\n"
        "linalg_matrix_norm_str_ord(randn(2, 3, 4), 'nuc')\n"
        "linalg_matrix_norm_str_ord(randn(3, 4, 2), 'nuc', [1, 0], True)",
    .bad =
        "linalg_matrix_norm_str_ord(zeros(2, 2), 'max') => linalg.matrix_norm: unknown norm \"max\"; the known ones are fro, "
        "nuc "
        "and numbers",
    .skip = "layout_bits: sums add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_matrix_norm_str_ord_op
