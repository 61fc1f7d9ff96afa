#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  for (int64_t n : c.tensor(0).sizes()) DY_CHECK(n > 0, "argmax: nothing to compare: self is {}", describe(c.tensor(0)));
  infer_reduction(c, 2, i64);
}
void forward(Call& c) { run_reduction(c, ReduceOp::argmax); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::argmax); }

}  // namespace

extern constexpr OpDef argmax_op = {
    .sig = "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The index (int64) of the largest element along dim, or in the flattened tensor if dim is absent; the first of equal "
        "ones; NaN counts as largest.",
    .samples = "argmax(randn(3, 4), 1)",
    .infer = infer,
    .forward = forward,
    .flops = reduction_flops,
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops
