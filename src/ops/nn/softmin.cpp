#include "ops/composite.h"

namespace dyadic::inline v1::ops::softmin_op {
namespace {

Tensor compose(const Arg* a) { return softmax(neg(*a[0].tensor), a[1].integer); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmin(Tensor self, int dim=-1) -> Tensor",
    .doc = "softmax of -x along dim.",
    .kind = OpKind::composite,
    .samples = "softmin(randn(3, 4), 0)\nsoftmin(randn(2, 3, 4), -1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::softmin_op
