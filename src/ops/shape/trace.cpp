#include "ops/common.h"

namespace dyadic::inline v1::ops::trace_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK(t.dim() == 2, "trace: needs a matrix: self is {}", describe(t));
  return sum(diagonal(t));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "trace(Tensor self) -> Tensor",
    .doc = "The sum of the diagonal of a matrix.",
    .kind = OpKind::composite,
    .samples =
        "trace(randn(3, 4))\n"
        "trace(randn(2, 2))",
    .bad = "trace(zeros(3)) => trace: needs a matrix: self is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::trace_op
