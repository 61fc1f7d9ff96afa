#include "ops/common.h"

namespace dyadic::inline v1::ops::diagflat_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return diag_embed(reshape(t, {-1}), a[arg::offset]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "diagflat(Tensor self, int offset=0) -> Tensor",
    .doc = "The matrix with the flattened tensor on a diagonal.",
    .kind = OpKind::composite,
    .samples = "diagflat(randn(2, 2), 1)",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::diagflat_op
