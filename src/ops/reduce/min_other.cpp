#include "ops/common.h"

namespace dyadic::inline v1::ops::min_other_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return minimum(t, a[arg::other]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "min.other(Tensor self, Tensor other) -> Tensor",
    .doc = "The smaller of two elements each: minimum.",
    .kind = OpKind::composite,
    .samples = "min_other(randn(3, 4), randn(4))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::min_other_op
