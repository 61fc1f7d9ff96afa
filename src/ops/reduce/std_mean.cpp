#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

std::vector<Tensor> compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  return {std(t, ints_of(a[1]), a[2].integer, a[3].boolean), mean(t, ints_of(a[1]), a[3].boolean)};
}

}  // namespace

extern constexpr OpDef std_mean_op = {
    .sig = "std_mean(Tensor self, int[]? dim=None, int correction=1, bool keepdim=False) -> (Tensor, Tensor)",
    .doc = "std and mean over dim.",
    .kind = OpKind::composite,
    .samples = "std_mean(randn(3, 4), [1])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops
