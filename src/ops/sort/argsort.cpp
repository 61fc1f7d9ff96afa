#include "ops/common.h"

namespace dyadic::inline v1::ops::argsort_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return sort(t.detach(), a[arg::dim], a[arg::descending]).indices;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "argsort(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> Tensor",
    .doc = "The indices (int64) that sort dim.",
    .kind = OpKind::composite,
    .samples =
        "argsort(randn(3, 4))\n"
        "argsort(steps(3, 4), 0, True)",
    .skip = "gradcheck: indices have none",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::argsort_op
