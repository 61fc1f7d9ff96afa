#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  const int64_t dim = wrap_dim("trapezoid", a[3].integer, t.dim());
  DY_CHECK(t.dim() > 0, "trapezoid: a 0-d tensor has no neighbours");
  const int64_t n = t.size(dim);
  const Tensor y = t.dtype() == boolean ? to(t, i64) : t;
  if (n < 2) return sum(mul(slice(y, dim, 0, 0), 1.0), {dim});
  const Tensor pairs = add(narrow(y, dim, 1, n - 1), narrow(y, dim, 0, n - 1));
  if (a[1].kind == Arg::Kind::none) return mul(mul(sum(pairs, {dim}), a[2].scalar), 0.5);
  Tensor x = *a[1].tensor;
  const int64_t at = x.dim() == 1 ? 0 : dim - t.dim() + x.dim();
  DY_CHECK(x.dim() > 0 && at >= 0 && x.size(at) == n, "trapezoid: one place per sample is needed: y is {}, x is {}",
           describe(t), describe(x));
  x = diff(x.dtype() == boolean ? to(x, i64) : x, 1, at);
  if (x.dim() == 1) {
    std::vector<int64_t> shape(size_t(t.dim() - dim), 1);
    shape[0] = n - 1;
    x = reshape(x, shape);
  }
  return mul(sum(mul(pairs, x), {dim}), 0.5);
}

}  // namespace

extern constexpr OpDef trapezoid_op = {
    .sig = "trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor",
    .doc = "The integral along dim by trapezoids, between places x or dx apart.",
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
