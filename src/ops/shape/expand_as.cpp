#include "ops/common.h"

namespace dyadic::inline v1::ops::expand_as_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return expand(t, a[arg::other].sizes());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "expand_as(Tensor self, Tensor other) -> Tensor",
    .doc = "expand to the sizes of other.",
    .kind = OpKind::composite,
    .samples = "expand_as(randn(1, 3), zeros(2, 3))",
    .skip =
        "gradcheck: other lends its sizes only\n"
        "double_backward: other lends its sizes only",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::expand_as_op
