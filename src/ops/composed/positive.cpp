#include "ops/common.h"

namespace dyadic::inline v1::ops::positive_op {
namespace {

Tensor compose(Args a) {
  DY_CHECK_AS(TypeError, a[arg::self].dtype() != boolean, "positive: bool has no sign: self is {}", describe(a[arg::self]));
  return a[arg::self];
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "positive(Tensor self) -> Tensor",
    .doc = "self.",
    .kind = OpKind::composite,
    .samples = "positive(randn(3, 5))",
    .bad = "positive(mask(2)) => positive: bool has no sign: self is bool[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::positive_op
