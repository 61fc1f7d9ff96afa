#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::cholesky_solve_op {
namespace {

Tensor compose(Args a) {
  const Tensor &b = a[arg::self], f = widened(a[arg::input2]), l = a[arg::upper] ? mH(f) : f;
  const Tensor y = call(Op::linalg_solve_triangular_, l, widened(b), false, true, false);
  return like(call(Op::linalg_solve_triangular_, mH(l), y, true, true, false), b);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    .doc = "X of A X = self for A = L L^H given by its Cholesky factor input2 (upper: A = U^H U).",
    .kind = OpKind::composite,
    .samples =
        "cholesky_solve(randn(3, 2), spd(3, 3))\n"
        "cholesky_solve(randn(2, 3, 2), spd(3, 3), True)",
    .skip =
        "layout_bits: products of the gradient add in an order that strides decide\n"
        "torch_gradients: PyTorch's has values in the triangle that is not read",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cholesky_solve_op
