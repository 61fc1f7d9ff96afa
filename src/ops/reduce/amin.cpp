#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::amin_op {
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
    .sig = "amin(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The smallest element over dim (all dimensions if absent); NaN if there is one. Equal smallest elements share the "
        "gradient.",
    .samples = "amin(randn(3, 4), [0])",
    .bad = "amin(zeros(0)) => amin: nothing to compare: self is f32[0]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(0)},
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::min>};

}  // namespace dyadic::inline v1::ops::amin_op
