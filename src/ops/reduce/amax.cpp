#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::amax_op {
namespace {

void infer(Call& c) {
  check_comparable(c);
  infer_reduction(c, 2, c[arg::self].dtype().is_scaled() ? f32 : c[arg::self].dtype());
}
void backward(Grad& g) {
  g.set(arg::self, share_among(g.in(arg::self), g.out(), g.g(), g.in_meta(arg::self), g.arg(arg::dim)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "amax(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The largest element over dim (all dimensions if absent); NaN if there is one. Equal largest elements share the "
        "gradient.",
    .samples = "amax(randn(3, 4), [0])",
    .bad =
        "amax(zeros(0)) => amax: nothing to compare: self is f32[0]\namax(zeros(2, 0), [1]) => amax: nothing to compare: self "
        "is f32[2, 0]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(0)},
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::max>};

}  // namespace dyadic::inline v1::ops::amax_op
