#include "ops/linalg/norms.h"

namespace dyadic::inline v1::ops::linalg_norm_op {
namespace {

Tensor compose(Args a) {
  const char* who = "linalg.norm";
  const Tensor t = in_dtype(a[arg::self], a.arg(arg::dtype));
  const IntList dim = ints_of(a.arg(arg::dim));
  const bool keep = a[arg::keepdim];
  if (!a.has(arg::ord)) return vector_norm(t, 2, dim, keep);
  DY_CHECK(a[arg::ord].imag() == 0, "{}: the order is complex: it is {}+{}j", who, a[arg::ord].real(), a[arg::ord].imag());
  const double ord = a[arg::ord].real();
  if (!a.has(arg::dim)) {
    DY_CHECK(t.dim() == 1 || t.dim() == 2, "{}: an order without dim needs a vector or a matrix: self is {}", who, describe(t));
    return t.dim() == 1 ? vector_norm(t, ord, {}, keep) : matrix_norm(who, t, ord, {0, 1}, keep);
  }
  DY_CHECK(dim.size() == 1 || dim.size() == 2, "{}: an order needs one dimension or two: dim is {}", who, shape_text(dim));
  return dim.size() == 1 ? vector_norm(t, ord, dim, keep) : matrix_norm(who, t, ord, dim, keep);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_norm(Tensor self, Scalar? ord=None, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc =
        "Without ord the root of the sum of squares, over dim or everything; with one linalg.vector_norm over one dimension, "
        "linalg.matrix_norm over two.",
    .kind = OpKind::composite,
    .samples =
        "linalg_norm(randn(3, 4))\n"
        "linalg_norm(randn(3, 4), 1)\n"
        "linalg_norm(randn(5), 3)\n"
        "linalg_norm(randn(2, 3, 4), 2, [0, 2], True)\n"
        "linalg_norm(randn(2, 3), 1, [1])",
    .bad =
        "linalg_norm(zeros(2, 2, 2), 1) => linalg.norm: an order without dim needs a vector or a matrix: self is f32[2, 2, 2]",
    .skip = "layout_bits: sums add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_norm_op
