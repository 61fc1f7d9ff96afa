#include "ops/common.h"

namespace dyadic::inline v1::ops::rrelu_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  const double lower = a[arg::lower], upper = a[arg::upper];
  if (!a[arg::training]) return leaky_relu(x, (lower + upper) / 2);
  Tensor slope = add(mul(rand(x.sizes(), x.dtype(), x.device()), upper - lower), lower);
  return where(gt(x, 0), x, mul(x, slope));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "rrelu(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False) -> Tensor",
    .doc = "x, or x times a slope below 0: drawn from [lower, upper] in training, else their mean. (Xu et al. 2015.)",
    .kind = OpKind::composite,
    .samples = "rrelu(randn(3, 5))\nrrelu(randn(3, 5), 0.1, 0.5)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::rrelu_op
