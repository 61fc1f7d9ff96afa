#include "ops/matmul/weighted.h"

namespace dyadic::inline v1::ops::addbmm_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::batch1], &y = a[arg::batch2];
  DY_CHECK(x.dim() == 3 && y.dim() == 3 && x.size(0) == y.size(0) && x.size(2) == y.size(1),
           "addbmm: needs [b, n, m] and [b, m, p]: batch1 is {}, batch2 is {}", describe(x), describe(y));
  const int64_t k = x.size(0) * x.size(2);  // one product over batches and columns together
  const Tensor product = matmul(permute(x, {1, 0, 2}).reshape({x.size(1), k}), y.reshape({k, y.size(2)}));
  return add_weighted(a[arg::self], product, a[arg::beta], a[arg::alpha]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .doc = "beta self + alpha times the sum of the products of batch1 and batch2.",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .inplace = true,
    .samples = "addbmm(randn(3, 2), randn(2, 3, 4), randn(2, 4, 2))",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::addbmm_op
