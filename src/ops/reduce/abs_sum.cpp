#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::abs_sum_op {
namespace {

using Sum = FloatSum<ReduceOp::sum_abs>;
void backward(Grad& g) {
  g.set(arg::self, mul(keep_dims(g.g(), g.in_meta(arg::self), g.arg(arg::dim)), sign(g.in(arg::self))));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "abs_sum(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "The sum of absolute values over dim (all dimensions if absent) of a floating-point tensor, without them in memory.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "abs_sum(randn(3, 4))\n"
        "abs_sum(randn(3, 4), [0])\n"
        "abs_sum(randn(3, 4), [1], True)",
    .infer = Sum::infer,
    .backward = backward,
    .needs = {in(arg::self)},
    .flops = Sum::flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::sum_abs>};

}  // namespace dyadic::inline v1::ops::abs_sum_op
