#include "ops/common.h"

namespace dyadic::inline v1::ops::std_op {
namespace {

Tensor compose(Args a) {
  return root_of_squares(var(a[arg::self], ints_of(a.arg(arg::dim)), a[arg::correction], a[arg::keepdim]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "std(Tensor self, int[]? dim=None, float correction=1, bool keepdim=False) -> Tensor",
    .doc = "Standard deviation over dim: the square root of var.",
    .kind = OpKind::composite,
    .samples = "std(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::std_op
