#include "ops/common.h"

namespace dyadic::inline v1::ops::hsplit_indices_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 1, "hsplit: needs at least 1 dimension: self is {}", describe(t));
  return tensor_split(t, ints_of(a.arg(arg::indices)), t.dim() == 1 ? 0 : 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "hsplit.indices(Tensor self, int[] indices) -> Tensor[]",
    .doc = "tensor_split at the given indices along hsplit's dimension.",
    .kind = OpKind::composite,
    .samples = "hsplit_indices(randn(2, 6), [1])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::hsplit_indices_op
