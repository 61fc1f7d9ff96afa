#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::mean_op {
namespace {

void infer(Call& c) {
  check_float("mean", c[arg::self], "self");
  infer_reduction(c, 2, c[arg::self].dtype().is_scaled() ? f32 : c[arg::self].dtype());
}
void backward(Grad& g) {
  Tensor scaled = div(keep_dims(g.g(), g.in_meta(arg::self), g.arg(arg::dim)),
                      double(reduced_count(g.in_meta(arg::self), g.arg(arg::dim))));
  g.set(arg::self, scaled.expand(g.in_meta(arg::self).shape()));
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
