#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::argmax_op {
namespace {

void infer(Call& c) {
  check_comparable(c, true);
  infer_reduction(c, 2, i64);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The index (int64) of the largest element along dim, or in the flattened tensor if dim is absent; the first of equal "
        "ones; NaN counts as largest.",
    .samples = "argmax(randn(3, 4), 1)",
    .bad = "argmax(zeros(0, 2), 0) => argmax: nothing to compare: self is f32[0, 2]",
    .infer = infer,
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::argmax>};

}  // namespace dyadic::inline v1::ops::argmax_op
