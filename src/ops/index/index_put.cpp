#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_put_op {
namespace {

Tensor compose(Args a) {
  const Tensor& self = a[arg::self];
  const std::vector<Index> key(a.arg(arg::indices).tensor, a.arg(arg::indices).tensor + a.arg(arg::indices).n);
  return with_indexed(self, key, a[arg::values], a[arg::accumulate]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_put(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    .doc =
        "self with values (broadcast) written to, or added at, the places self[indices]. Indices are integer tensors and masks "
        "(bool), of the first dimensions.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "index_put(randn(4, 3), [indices(4; 2)], randn(2, 3))\n"
        "index_put(randn(3, 4), [indices(3; 3), indices(4; 3)], randn(3), True)\n"
        "index_put(randn(3, 4), [mask(3)], randn())",
    .bad =
        "index_put(zeros(2), [indices(5; 2)], zeros(2)) => index_put: index_write: index out of range: index 4 at position 0; "
        "dimension 0 "
        "has 2 entries",
    .skip = "meta: masks have no values there",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::index_put_op
