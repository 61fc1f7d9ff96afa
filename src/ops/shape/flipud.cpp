#include "ops/common.h"

namespace dyadic::inline v1::ops::flipud_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 1, "flipud: needs at least 1 dimension: self is {}", describe(t));
  return flip(t, {0});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "flipud(Tensor self) -> Tensor",
    .doc = "The first dimension reversed.",
    .kind = OpKind::composite,
    .samples = "flipud(randn(2, 3))",
    .bad = "flipud(zeros()) => flipud: needs at least 1 dimension: self is f32[]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::flipud_op
