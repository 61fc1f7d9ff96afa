#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_vector_norm_op {
namespace {

Tensor compose(Args a) {
  return call(Op::vector_norm_, a[arg::self], a.arg(arg::ord), a.arg(arg::dim), a.arg(arg::keepdim), a.arg(arg::dtype));
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
        "Tensor",
    .doc = "The norm of what stands along dim, everything if absent, as one vector: sum(|x|^ord)^(1/ord).",
    .kind = OpKind::composite,
    .samples =
        "linalg_vector_norm(randn(3, 4))\n"
        "linalg_vector_norm(randn(3, 4), 1, [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_vector_norm_op
