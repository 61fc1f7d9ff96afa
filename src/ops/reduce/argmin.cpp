#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::argmin_op {
namespace {

void infer(Call& c) {
  check_comparable(c, true);
  infer_reduction(c, 2, i64);
}
void forward(Call& c) { run_reduction(c, ReduceOp::argmin); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::argmin); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The index (int64) of the smallest element along dim, or in the flattened tensor if dim is absent; the first of equal "
        "ones; NaN counts as smallest.",
    .samples = "argmin(randn(3, 4), 1)",
    .bad = "argmin(zeros(0)) => argmin: nothing to compare: self is f32[0]",
    .infer = infer,
    .forward = forward,
    .flops = reduction_flops,
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops::argmin_op
