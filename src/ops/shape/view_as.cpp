#include "ops/common.h"

namespace dyadic::inline v1::ops::view_as_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return view(t, a[arg::other].sizes());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "view_as(Tensor self, Tensor other) -> Tensor",
    .doc = "view to the sizes of other.",
    .kind = OpKind::composite,
    .samples = "view_as(randn(2, 3), zeros(3, 2))",
    .skip =
        "gradcheck: other lends its sizes only\n"
        "double_backward: other lends its sizes only",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::view_as_op
