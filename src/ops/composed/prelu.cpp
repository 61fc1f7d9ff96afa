#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops::prelu_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &weight = a[arg::weight];
  const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
  DY_CHECK(weight.dim() <= 1 && (weight.numel() == 1 || weight.numel() == channels),
           "prelu: the weights do not fit: self is {}, weight is {}; it holds 1 or {}", describe(x), describe(weight),
           channels);
  std::vector<int64_t> shape(size_t(x.dim()), 1);
  if (weight.numel() > 1) shape[1] = channels;
  return where(gt(x, 0), x, mul(reshape(weight, shape), x));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "prelu(Tensor self, Tensor weight) -> Tensor",
    .doc = "x, or weight x below 0; one weight for all, or one for each entry of dimension 1. (He et al. 2015.)",
    .kind = OpKind::composite,
    .amp = Amp::lower,
    .samples = "prelu(randn(3, 4), randn(4))\nprelu(randn(2, 3, 5), randn(1))\nprelu(randn(5), randn(1))",
    .bad =
        "prelu(zeros(2, 3), zeros(2)) => prelu: the weights do not fit: self is f32[2, 3], weight is f32[2]; it holds 1 or 3",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::prelu_op
