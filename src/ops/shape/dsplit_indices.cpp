#include "ops/common.h"

namespace dyadic::inline v1::ops::dsplit_indices_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 3, "dsplit: needs at least 3 dimensions: self is {}", describe(t));
  return tensor_split(t, ints_of(a.arg(arg::indices)), 2);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "dsplit.indices(Tensor self, int[] indices) -> Tensor[]",
    .doc = "tensor_split at the given indices along dsplit's dimension.",
    .kind = OpKind::composite,
    .samples = "dsplit_indices(randn(1, 2, 4), [1])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::dsplit_indices_op
