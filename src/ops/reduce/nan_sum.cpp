#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  check_float("nan_sum", c.tensor(0), "self");
  infer_reduction(c, 2, plain(c.tensor(0)));
}
void forward(Call& c) { run_reduction(c, ReduceOp::nan_sum); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::nan_sum); }
void backward(Grad& g) {
  const Tensor grad = keep_dims(g.g(), g.in_meta(0), g.node.args[1]);
  g.set(0, where(isnan(g.in(0).detach()), scalar_tensor(0.0), grad));
}

}  // namespace

extern constexpr OpDef nan_sum_op = {
    .sig = "nan_sum(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "nansum of a floating-point tensor, without another one in memory.",
    .amp = Amp::f32,
    .samples =
        "nan_sum(randn(3, 4))\n"
        "nan_sum(randn(3, 4), [0])\n"
        "nan_sum(randn(3, 4), [1], True)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(0)},
    .flops = reduction_flops,
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops
