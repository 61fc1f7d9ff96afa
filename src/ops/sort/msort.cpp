#include "ops/common.h"

namespace dyadic::inline v1::ops::msort_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return sort(t, 0).values;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "msort(Tensor self) -> Tensor",
    .doc = "The first dimension sorted.",
    .kind = OpKind::composite,
    .samples =
        "msort(randn(3, 4))\n"
        "msort(randn())",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::msort_op
