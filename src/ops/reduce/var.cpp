#include "dyadic/ops_more.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::var_op {
namespace {

Tensor compose(const Arg* a) {
  const IntList dim(a[1].ints, a[1].kind == Arg::Kind::ints ? a[1].n : 0);
  return var_mean(*a[0].tensor, dim, a[2].integer, a[3].boolean)[0];
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "var(Tensor self, int[]? dim=None, int correction=1, bool keepdim=False) -> Tensor",
    .doc = "Variance over dim: squared distances from the mean, divided by their number less `correction`.",
    .kind = OpKind::composite,
    .samples = "var(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::var_op
