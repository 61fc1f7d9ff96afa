#include "ops/common.h"

namespace dyadic::inline v1::ops::norm_op {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;
  return call(Op::vector_norm_, t, a[1], a[2], a[3], a[4]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "norm(Tensor self, Scalar p=2, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None) -> Tensor",
    .doc = "The p-norm over dim, all elements of which count as one vector: vector_norm.",
    .kind = OpKind::composite,
    .samples =
        "norm(randn(3, 4))\n"
        "norm(randn(3, 4), 1, [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::norm_op
