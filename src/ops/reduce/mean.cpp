#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::mean_op {
namespace {

void infer(Call& c) {
  check_float("mean", c.tensor(0), "self");
  infer_reduction(c, 2, c.tensor(0).dtype().is_scaled() ? f32 : c.tensor(0).dtype());
}
void backward(Grad& g) {
  Tensor scaled = div(keep_dims(g.g(), g.in_meta(0), g.node.args[1]), double(reduced_count(g.in_meta(0), g.node.args[1])));
  g.set(0, scaled.expand(g.in_meta(0).shape()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "mean(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc = "The mean over dim (all dimensions if absent) of a floating-point tensor, or of self in a floating-point dtype.",
    .samples =
        "mean(randn(3, 4), [0])\n"
        "mean(randn(3, 4), [1], False, f64)",
    .infer = infer,
    .backward = backward,
    .flops = reduction_flops,
    .complex = complex_mean,
    .variant = mean_variant,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::mean>};

}  // namespace dyadic::inline v1::ops::mean_op
