#include "ops/common.h"

namespace dyadic::inline v1::ops::reshape_as_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return reshape(t, a[arg::other].sizes());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "reshape_as(Tensor self, Tensor other) -> Tensor",
    .doc = "reshape to the sizes of other.",
    .kind = OpKind::composite,
    .samples = "reshape_as(randn(2, 3), zeros(3, 2))",
    .skip =
        "gradcheck: other lends its sizes only\n"
        "double_backward: other lends its sizes only",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::reshape_as_op
