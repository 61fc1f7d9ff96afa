#include "ops/common.h"

namespace dyadic::inline v1::ops::max_other_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return maximum(t, a[arg::other]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "max.other(Tensor self, Tensor other) -> Tensor",
    .doc = "The larger of two elements each: maximum.",
    .kind = OpKind::composite,
    .samples = "max_other(randn(3, 4), randn(4))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_other_op
