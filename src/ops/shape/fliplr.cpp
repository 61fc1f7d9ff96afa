#include "ops/common.h"

namespace dyadic::inline v1::ops::fliplr_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 2, "fliplr: needs at least 2 dimensions: self is {}", describe(t));
  return flip(t, {1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fliplr(Tensor self) -> Tensor",
    .doc = "The second dimension reversed.",
    .kind = OpKind::composite,
    .samples = "fliplr(randn(2, 3))",
    .bad = "fliplr(zeros(2)) => fliplr: needs at least 2 dimensions: self is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fliplr_op
