#include "ops/common.h"

namespace dyadic::inline v1::ops::norm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return call(Op::vector_norm_, t, a.arg(arg::p), a.arg(arg::dim), a.arg(arg::keepdim), a.arg(arg::dtype));
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
