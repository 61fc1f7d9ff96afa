#include "ops/common.h"

namespace dyadic::inline v1::ops::atleast_3d_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return t.dim() > 2 ? t : t.dim() == 2 ? unsqueeze(t, 2) : t.dim() ? unsqueeze(unsqueeze(t, 0), 2) : view(t, {1, 1, 1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "atleast_3d(Tensor self) -> Tensor",
    .doc = "A view with at least 3 dimensions, new ones of size 1 as in numpy.",
    .kind = OpKind::composite,
    .samples =
        "atleast_3d(randn())\n"
        "atleast_3d(randn(3))\n"
        "atleast_3d(randn(2, 3))\n"
        "atleast_3d(randn(2, 3, 1, 2))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::atleast_3d_op
