#include "ops/common.h"

namespace dyadic::inline v1::ops::max_dim_op {
namespace {

std::vector<Tensor> compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  const Tensor at = argmax(t.detach(), a[1].integer, true);
  if (t.dim() == 0) return {clone(t), at};
  const Tensor values = gather(t, a[1].integer, at);
  if (a[2].boolean) return {values, at};
  return {squeeze(values, a[1].integer), squeeze(at, a[1].integer)};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "The largest entry of dim and where it is: the first of equal ones, NaN if there is one.",
    .kind = OpKind::composite,
    .samples =
        "max_dim(randn(3, 4), 1)\n"
        "max_dim(randn(3, 4), 0, True)\n"
        "max_dim(randn(), 0)",
    .bad = "max_dim(zeros(2, 0), 1) => max: argmax: nothing to compare: self is f32[2, 0]",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::max_dim_op
