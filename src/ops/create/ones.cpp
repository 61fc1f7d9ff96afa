#include "ops/common.h"

namespace dyadic::inline v1::ops::ones_op {
namespace {

void infer(Call& c) { infer_creation(c, c[arg::size], 1, 2); }
void plan(Call& c) { plan_fill(c, 1); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "ones(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "A new tensor of ones.",
    .samples = "ones([2, 3])\nones([3], i64)\nones([], bf16)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::ones_op
