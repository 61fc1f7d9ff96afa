#include "ops/common.h"

namespace dyadic::inline v1::ops::select_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK_AS(IndexError, t.dim() > 0, "select: a 0-d tensor cannot be indexed; use item()");
  int64_t dim = wrap_dim("select", a[arg::dim], t.dim()), n = t.size(dim), i = a[arg::index];
  DY_CHECK_AS(IndexError, i >= -n && i < n, "select: index {} is out of bounds for dimension {} with size {}", i, dim, n);
  if (i < 0) i += n;
  return squeeze(slice(t, dim, i, i + 1), dim);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "select(Tensor self, int dim, int index) -> Tensor",
    .doc = "A view of one entry of a dimension, without that dimension.",
    .kind = OpKind::composite,
    .samples = "select(randn(2, 3), 1, -1)\nselect(randn(4, 64), 0, 2)",
    .bad = "select(zeros(2, 3), 1, 3) => select: index 3 is out of bounds for dimension 1 with size 3",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::select_op
