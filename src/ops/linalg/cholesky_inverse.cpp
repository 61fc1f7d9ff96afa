#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::cholesky_inverse_op {
namespace {

Tensor compose(Args a) {
  const Tensor& f = a[arg::self];
  check_square("cholesky_inverse", f, "self");
  return like(call(Op::cholesky_solve_, eye_like(widened(f), f.size(-1)), widened(f), a[arg::upper]), f);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    .doc = "The inverse of A = L L^H given by its Cholesky factor (upper: A = U^H U).",
    .kind = OpKind::composite,
    .samples =
        "cholesky_inverse(spd(3, 3))\n"
        "cholesky_inverse(spd(2, 3, 3), True)",
    .skip =
        "layout_bits: products of the gradient add in an order that strides decide\n"
        "torch_gradients: PyTorch's has values in the triangle that is not read",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cholesky_inverse_op
