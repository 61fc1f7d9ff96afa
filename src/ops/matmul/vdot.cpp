#include "ops/common.h"

namespace dyadic::inline v1::ops::vdot_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::other];
  DY_CHECK(x.dim() == 1 && y.dim() == 1, "vdot: needs 1-d and 1-d tensors: self is {}, other is {}", describe(x), describe(y));
  return matmul(conj(x), y);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "vdot(Tensor self, Tensor other) -> Tensor",
    .doc = "The sum of the products of two vectors, the first conjugated.",
    .kind = OpKind::composite,
    .samples = "vdot(randn(5), randn(5))",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::vdot_op
