#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops::addmm_op {
namespace {

Tensor compose(Args a) {
  const Tensor product = mm(a[arg::mat1], a[arg::mat2]);
  return add_weighted(a[arg::self], product, a[arg::beta], a[arg::alpha]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .doc = "beta self + alpha mat1 mat2.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .inplace = true,
    .samples =
        "addmm(randn(2, 4), randn(2, 3), randn(3, 4))\n"
        "addmm(randn(4), randn(2, 3), randn(3, 4), 0.5, 2)",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same\n"
        "integer_values: integers are weighted by whole numbers",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::addmm_op
