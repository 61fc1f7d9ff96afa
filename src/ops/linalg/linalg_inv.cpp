#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_inv_op {
namespace {

Tensor compose(Args a) {
  const Tensor &t = a[arg::A], x = widened(t);
  check_square("linalg.inv", t, "A");
  const std::vector<Tensor> r = call_all(Op::linalg_inv_ex_, x, false);
  check_factors("linalg.inv", r[1], t);
  return like(r[0], t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_inv(Tensor A) -> Tensor",
    .doc =
        "The inverses of square matrices; LinAlgError names the first singular one. To solve a system, linalg.solve is better.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "linalg_inv(spd(3, 3))\n"
        "linalg_inv(spd(2, 2, 2))",
    .bad =
        "linalg_inv(ones(2, 2)) => linalg.inv: the matrix is singular: A is f32[2, 2]: element 2 of the diagonal of U is zero; "
        "use "
        "linalg.pinv or linalg.lstsq",
    .skip =
        "threads: those of linalg_inv_ex, which is tested\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_inv_op
