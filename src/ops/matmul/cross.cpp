#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor &x = *a[0].tensor, &y = *a[1].tensor;
  const int64_t d = wrap_dim("cross", a[2].integer, std::max(x.dim(), y.dim())) - std::max(x.dim(), y.dim());
  DY_CHECK(x.dim() && y.dim() && x.size(d) == 3 && y.size(d) == 3,
           "cross: the dimension has not 3 elements: self is {}, other is {}", describe(x), describe(y));
  auto part = [&](const Tensor& t, int64_t i) { return select(t, d, i); };
  const Tensor r[] = {sub(mul(part(x, 1), part(y, 2)), mul(part(x, 2), part(y, 1))),
                      sub(mul(part(x, 2), part(y, 0)), mul(part(x, 0), part(y, 2))),
                      sub(mul(part(x, 0), part(y, 1)), mul(part(x, 1), part(y, 0)))};
  return stack(r, d);
}

}  // namespace

extern constexpr OpDef cross_op = {
    .sig = "cross(Tensor self, Tensor other, int dim=-1) -> Tensor",
    .doc = "The vector product along a dimension of size 3.",
    .kind = OpKind::composite,
    .samples =
        "cross(randn(2, 3), randn(2, 3))\n"
        "cross(randn(3, 2), randn(3, 2), 0)",
    .bad = "cross(zeros(2), zeros(2)) => cross: the dimension has not 3 elements: self is f32[2], other is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
