#include "ops/composite.h"

namespace dyadic::inline v1::ops::softmin_op {
namespace {

Tensor compose(Args a) { return softmax(neg(a[arg::self]), a[arg::dim]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmin(Tensor self, int dim=-1) -> Tensor",
    .doc = "softmax of -x along dim.",
    .kind = OpKind::composite,
    .samples = "softmin(randn(3, 4), 0)\nsoftmin(randn(2, 3, 4), -1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::softmin_op
