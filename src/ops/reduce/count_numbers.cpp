#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::count_numbers_op {
namespace {

void infer(Call& c) {
  check_float("count_numbers", c[arg::self], "self");
  infer_reduction(c, 2, i64);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "count_numbers(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "How many elements of a floating-point tensor over dim (all dimensions if absent) are not NaN, as int64.",
    .internal = true,
    .samples =
        "count_numbers(randn(3, 4))\n"
        "count_numbers(randn(3, 4), [1], True)",
    .infer = infer,
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::numbers>};

}  // namespace dyadic::inline v1::ops::count_numbers_op
