#include "ops/common.h"

namespace dyadic::inline v1::ops::ravel_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return reshape(t, {-1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "ravel(Tensor self) -> Tensor",
    .doc = "All elements in one dimension: a view where strides allow it.",
    .kind = OpKind::composite,
    .samples =
        "ravel(randn(2, 3))\n"
        "ravel(randn())",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::ravel_op
