#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_cross_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::other];
  DY_CHECK(x.dim() == y.dim(), "linalg.cross: the numbers of dimensions differ: self is {}, other is {}", describe(x),
           describe(y));
  return call(Op::cross_, x, y, a[arg::dim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    .doc = "The vector product along a dimension of size 3; the others broadcast.",
    .kind = OpKind::composite,
    .samples =
        "linalg_cross(randn(2, 3), randn(2, 3))\n"
        "linalg_cross(randn(3, 2), randn(3, 1), 0)",
    .bad =
        "linalg_cross(zeros(3), zeros(2, 3)) => linalg.cross: the numbers of dimensions differ: self is f32[3], other is "
        "f32[2, "
        "3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_cross_op
