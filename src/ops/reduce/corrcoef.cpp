#include "ops/common.h"

namespace dyadic::inline v1::ops::corrcoef_op {
namespace {

Tensor compose(Args a) {
  const Tensor c = cov(a[arg::self]);
  if (c.dim() == 0) return div(c, c);
  const Tensor d = sqrt(real(call(Op::diagonal_, c, int64_t(0), int64_t(0), int64_t(1))));
  return div(div(c, unsqueeze(d, 1)), unsqueeze(d, 0));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "corrcoef(Tensor self) -> Tensor",
    .doc = "The correlations of the variables in the rows of self: cov over the standard deviations of both.",
    .kind = OpKind::composite,
    .samples = "corrcoef(randn(3, 5))\ncorrcoef(randn(4))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::corrcoef_op
