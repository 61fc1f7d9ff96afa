#include "dyadic/ops_more.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::std_mean_op {
namespace {

std::vector<Tensor> compose(Args a) {
  std::vector<Tensor> r = var_mean(a[arg::self], ints_of(a.arg(arg::dim)), a[arg::correction], a[arg::keepdim]);
  return {root_of_squares(r[0]), r[1]};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "std_mean(Tensor self, int[]? dim=None, float correction=1, bool keepdim=False) -> (Tensor, Tensor)",
    .doc = "std and mean over dim.",
    .kind = OpKind::composite,
    .samples = "std_mean(randn(3, 4), [1])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::std_mean_op
