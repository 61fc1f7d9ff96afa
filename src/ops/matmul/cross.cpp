#include "ops/common.h"

namespace dyadic::inline v1::ops::cross_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::other];
  const int64_t d = wrap_dim("cross", a[arg::dim], std::max(x.dim(), y.dim())) - std::max(x.dim(), y.dim());
  DY_CHECK(x.dim() && y.dim() && x.size(d) == 3 && y.size(d) == 3,
           "cross: the dimension has not 3 elements: self is {}, other is {}", describe(x), describe(y));
  // Each of the three parts is read twice: they are made dense first.
  auto parts = [&](const Tensor& t) { return dense(movedim(t, {d}, {0})); };
  const Tensor p = parts(x), q = parts(y);
  auto part = [&](int64_t i, int64_t j) {
    return sub(mul(select(p, 0, i), select(q, 0, j)), mul(select(p, 0, j), select(q, 0, i)));
  };
  const Tensor r[] = {part(1, 2), part(2, 0), part(0, 1)};
  return stack(r, d);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cross(Tensor self, Tensor other, int dim=-1) -> Tensor",
    .doc = "The vector product along a dimension of size 3.",
    .kind = OpKind::composite,
    .samples =
        "cross(randn(2, 3), randn(2, 3))\n"
        "cross(randn(3, 2), randn(3, 2), 0)",
    .bad = "cross(zeros(2), zeros(2)) => cross: the dimension has not 3 elements: self is f32[2], other is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cross_op
