#include "ops/common.h"

namespace dyadic::inline v1::ops::t_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK(t.dim() <= 2, "t: needs a matrix: self is {}; use transpose or permute", describe(t));
  return t.dim() < 2 ? view(t, t.sizes()) : transpose(t, 0, 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "t(Tensor self) -> Tensor",
    .doc = "The transpose of a matrix, as a view; tensors of fewer dimensions as they are.",
    .kind = OpKind::composite,
    .samples =
        "t(randn(2, 3))\n"
        "t(randn(3))\n"
        "t(randn())",
    .bad = "t(zeros(2, 3, 4)) => t: needs a matrix: self is f32[2, 3, 4]; use transpose or permute",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::t_op
