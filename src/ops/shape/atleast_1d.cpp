#include "ops/common.h"

namespace dyadic::inline v1::ops::atleast_1d_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return t.dim() ? t : view(t, {1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "atleast_1d(Tensor self) -> Tensor",
    .doc = "A view with at least 1 dimension, new ones of size 1 as in numpy.",
    .kind = OpKind::composite,
    .samples =
        "atleast_1d(randn())\n"
        "atleast_1d(randn(3))\n"
        "atleast_1d(randn(2, 3))\n"
        "atleast_1d(randn(2, 3, 1, 2))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::atleast_1d_op
