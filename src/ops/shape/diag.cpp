#include "ops/common.h"

namespace dyadic::inline v1::ops::diag_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK(t.dim() == 1 || t.dim() == 2, "diag: needs a vector or a matrix: self is {}", describe(t));
  return t.dim() == 1 ? diag_embed(t, a[arg::diagonal]) : clone(diagonal(t, a[arg::diagonal]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "diag(Tensor self, int diagonal=0) -> Tensor",
    .doc = "Of a matrix its diagonal, copied; of a vector the matrix that has it there.",
    .kind = OpKind::composite,
    .samples =
        "diag(randn(3))\n"
        "diag(randn(2), -1)\n"
        "diag(randn(3, 4), 1)",
    .bad = "diag(zeros(2, 3, 4)) => diag: needs a vector or a matrix: self is f32[2, 3, 4]",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::diag_op
