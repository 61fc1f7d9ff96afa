#include "ops/composite.h"

namespace dyadic::inline v1::ops::trapezoid_op {
namespace {

// Samples at equal distances count once, the outer two half.
Tensor compose(Args a) {
  const Tensor y = a[arg::y].dtype() == boolean ? to(a[arg::y], i64) : a[arg::y];
  int64_t dim = wrap_dim("trapezoid", a[arg::dim], y.dim());
  const int64_t n = y.dim() ? y.size(dim) : 0;
  if (a.has(arg::x) || n < 2) return sum(trapezoids("trapezoid", a, dim), {dim});
  const Tensor ends = add(select(y, dim, 0), select(y, dim, n - 1));
  return mul(add(sum(narrow(y, dim, 1, n - 2), {dim}), mul(ends, 0.5)), a[arg::dx]);
}

}  // namespace

extern constexpr OpDef record = {
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

}  // namespace dyadic::inline v1::ops::trapezoid_op
