#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::linalg_vecdot_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::x], &y = a[arg::y];
  const int64_t dim = a[arg::dim];
  return like(sum(mul(conj(widened(x)), widened(y)), {dim}), x);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    .doc = "The sum over dim of conj(x) y; the other dimensions broadcast.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .samples =
        "linalg_vecdot(randn(2, 3), randn(2, 3))\n"
        "linalg_vecdot(randn(3, 2), randn(3, 1), 0)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_vecdot_op
