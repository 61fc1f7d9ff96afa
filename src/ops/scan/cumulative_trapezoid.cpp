#include "ops/composite.h"

namespace dyadic::inline v1::ops::cumulative_trapezoid_op {
namespace {

Tensor compose(Args a) {
  int64_t dim;
  const Tensor areas = trapezoids("cumulative_trapezoid", a, dim);
  return cumsum(areas, dim);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cumulative_trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor",
    .doc = "The integrals along dim so far by trapezoids, between places x or dx apart: one fewer than samples.",
    .kind = OpKind::composite,
    .samples =
        "cumulative_trapezoid(randn(3, 4))\n"
        "cumulative_trapezoid(randn(3, 4), randn(4))\n"
        "cumulative_trapezoid(randn(3, 4), None, 2.0, 0)",
    .bad =
        "cumulative_trapezoid(zeros(3), zeros(2)) => cumulative_trapezoid: one place per sample is needed: y is f32[3], x is "
        "f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cumulative_trapezoid_op
