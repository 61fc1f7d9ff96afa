#include "dyadic/ops_more.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::var_op {
namespace {

Tensor compose(Args a) {
  const IntList dim(a.arg(arg::dim).ints, a.arg(arg::dim).kind == Arg::Kind::ints ? a.arg(arg::dim).n : 0);
  return var_mean(a[arg::self], dim, a[arg::correction], a[arg::keepdim])[0];
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "var(Tensor self, int[]? dim=None, float correction=1, bool keepdim=False) -> Tensor",
    .doc = "Variance over dim: squared distances from the mean, divided by their number less `correction`.",
    .kind = OpKind::composite,
    .samples = "var(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::var_op
