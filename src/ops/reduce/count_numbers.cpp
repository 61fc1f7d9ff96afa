#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::count_numbers_op {
namespace {

void infer(Call& c) {
  check_float("count_numbers", c.tensor(0), "self");
  infer_reduction(c, 2, i64);
}
void forward(Call& c) { run_reduction(c, ReduceOp::numbers); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::numbers); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "count_numbers(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "How many elements of a floating-point tensor over dim (all dimensions if absent) are not NaN, as int64.",
    .samples =
        "count_numbers(randn(3, 4))\n"
        "count_numbers(randn(3, 4), [1], True)",
    .infer = infer,
    .forward = forward,
    .flops = reduction_flops,
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops::count_numbers_op
