#include "ops/common.h"

namespace dyadic::inline v1::ops::count_nonzero_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return sum(t.dtype() == boolean ? t : ne(t.detach(), 0), ints_of(a.arg(arg::dim)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "count_nonzero(Tensor self, int[]? dim=None) -> Tensor",
    .doc = "How many elements over dim (all dimensions if absent) are not zero, as int64.",
    .kind = OpKind::composite,
    .samples =
        "count_nonzero(steps(3, 4))\n"
        "count_nonzero(steps(3, 4), [1])",
    .skip = "gradcheck: a count has none",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::count_nonzero_op
