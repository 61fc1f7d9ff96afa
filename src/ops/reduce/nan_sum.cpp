#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::nan_sum_op {
namespace {

using Sum = FloatSum<ReduceOp::nan_sum>;
void backward(Grad& g) {
  const Tensor grad = keep_dims(g.g(), g.in_meta(arg::self), g.arg(arg::dim));
  g.set(arg::self, where(isnan(g.in(arg::self).detach()), scalar_tensor(0.0), grad));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nan_sum(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "nansum of a floating-point tensor, without another one in memory.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "nan_sum(randn(3, 4))\n"
        "nan_sum(randn(3, 4), [0])\n"
        "nan_sum(randn(3, 4), [1], True)",
    .infer = Sum::infer,
    .backward = backward,
    .needs = {in(arg::self)},
    .flops = Sum::flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::nan_sum>};

}  // namespace dyadic::inline v1::ops::nan_sum_op
