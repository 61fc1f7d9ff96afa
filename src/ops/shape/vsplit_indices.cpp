#include "ops/common.h"

namespace dyadic::inline v1::ops::vsplit_indices_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 2, "vsplit: needs at least 2 dimensions: self is {}", describe(t));
  return tensor_split(t, ints_of(a.arg(arg::indices)), 0);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "vsplit.indices(Tensor self, int[] indices) -> Tensor[]",
    .doc = "tensor_split at the given indices along vsplit's dimension.",
    .kind = OpKind::composite,
    .samples = "vsplit_indices(randn(4, 3), [1])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::vsplit_indices_op
