#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::nan_sum_op {
namespace {

using Sum = FloatSum<ReduceOp::nan_sum>;
void backward(Grad& g) {
  const Tensor grad = keep_dims(g.g(), g.in_meta(0), g.node.args[1]);
  g.set(0, where(isnan(g.in(0).detach()), scalar_tensor(0.0), grad));
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
    .needs = {in(0)},
    .flops = Sum::flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::nan_sum>};

}  // namespace dyadic::inline v1::ops::nan_sum_op
