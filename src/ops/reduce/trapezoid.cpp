#include "ops/composite.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  int64_t dim;
  const Tensor areas = trapezoids("trapezoid", a, dim);
  return sum(areas, {dim});
}

}  // namespace

extern constexpr OpDef trapezoid_op = {
    .sig = "trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor",
    .doc = "The integral along dim by trapezoids, between places x or dx apart.",
    .aliases = "trapz",
    .kind = OpKind::composite,
    .samples =
        "trapezoid(randn(3, 4))\n"
        "trapezoid(randn(3, 4), randn(4))\n"
        "trapezoid(randn(3, 4), randn(3), 1, 0)\n"
        "trapezoid(randn(3, 4), None, 2.0, 0)",
    .bad = "trapezoid(zeros(3), zeros(2)) => trapezoid: one place per sample is needed: y is f32[3], x is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
