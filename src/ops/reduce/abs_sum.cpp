#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  check_float("abs_sum", c.tensor(0), "self");
  infer_reduction(c, 2, c.tensor(0).dtype().is_scaled() ? f32 : c.tensor(0).dtype());
}
void forward(Call& c) { run_reduction(c, ReduceOp::sum_abs); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::sum_abs); }
void backward(Grad& g) { g.set(0, mul(keep_dims(g.g(), g.in_meta(0), g.node.args[1]), sign(g.in(0)))); }
double flops(const Call& c) { return 2 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef abs_sum_op = {
    .sig = "abs_sum(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "The sum of absolute values over dim (all dimensions if absent) of a floating-point tensor, without them in memory.",
    .amp = Amp::f32,
    .samples =
        "abs_sum(randn(3, 4))\n"
        "abs_sum(randn(3, 4), [0])\n"
        "abs_sum(randn(3, 4), [1], True)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(0)},
    .flops = flops,
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops
