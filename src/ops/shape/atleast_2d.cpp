#include "ops/common.h"

namespace dyadic::inline v1::ops::atleast_2d_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return t.dim() > 1 ? t : t.dim() ? unsqueeze(t, 0) : view(t, {1, 1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "atleast_2d(Tensor self) -> Tensor",
    .doc = "A view with at least 2 dimensions, new ones of size 1 as in numpy.",
    .kind = OpKind::composite,
    .samples =
        "atleast_2d(randn())\n"
        "atleast_2d(randn(3))\n"
        "atleast_2d(randn(2, 3))\n"
        "atleast_2d(randn(2, 3, 1, 2))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::atleast_2d_op
