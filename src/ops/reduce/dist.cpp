#include "ops/common.h"

namespace dyadic::inline v1::ops::dist_op {
namespace {

Tensor compose(Args a) { return vector_norm(sub(a[arg::self], a[arg::other]), a[arg::p]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    .doc = "The p-norm of self - other; the shapes broadcast.",
    .kind = OpKind::composite,
    .samples = "dist(randn(3, 4), randn(3, 4))\ndist(randn(3), randn(2, 3), 1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::dist_op
