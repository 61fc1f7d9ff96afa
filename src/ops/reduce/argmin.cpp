#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::argmin_op {
namespace {

void infer(Call& c) {
  check_comparable(c, true);
  infer_reduction(c, 2, i64);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The index (int64) of the smallest element along dim, or in the flattened tensor if dim is absent; the first of equal "
        "ones; NaN counts as smallest.",
    .samples = "argmin(randn(3, 4), 1)",
    .bad = "argmin(zeros(0)) => argmin: nothing to compare: self is f32[0]",
    .infer = infer,
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::argmin>};

}  // namespace dyadic::inline v1::ops::argmin_op
