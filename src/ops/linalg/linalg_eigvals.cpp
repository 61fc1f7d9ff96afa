#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_eigvals_op {
namespace {

// Without vectors the eigenvalues may come in another order: a gradient needs those of its vectors.
Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  if (t.requires_grad() && GradMode::enabled()) return call_all(Op::linalg_eig_, t)[0];
  return call(Op::linalg_eigenvalues_, t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_eigvals(Tensor self) -> Tensor",
    .doc = "The complex eigenvalues [..., n] of square matrices, in no order.",
    .kind = OpKind::composite,
    .samples =
        "linalg_eigvals(randn(3, 3))\n"
        "linalg_eigvals(randn(2, 4, 4))",
    .skip =
        "gradcheck: complex results; tests/ops/linalg_test.cpp checks it\n"
        "double_backward: the same\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_eigvals_op
