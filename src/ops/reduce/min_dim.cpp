#include "ops/common.h"

namespace dyadic::inline v1::ops::min_dim_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const Tensor at = argmin(t.detach(), a[arg::dim], true);
  if (t.dim() == 0) return {clone(t), at};
  const Tensor values = gather(t, a[arg::dim], at);
  if (a[arg::keepdim]) return {values, at};
  return {squeeze(values, a[arg::dim]), squeeze(at, a[arg::dim])};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "The smallest entry of dim and where it is: the first of equal ones, NaN if there is one.",
    .kind = OpKind::composite,
    .samples =
        "min_dim(randn(3, 4), 1)\n"
        "min_dim(randn(3, 4), 0, True)\n"
        "min_dim(randn(), 0)",
    .bad = "min_dim(zeros(2, 0), 1) => min: argmin: nothing to compare: self is f32[2, 0]",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::min_dim_op
