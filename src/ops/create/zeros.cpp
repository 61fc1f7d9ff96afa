#include "ops/common.h"

namespace dyadic::inline v1::ops::zeros_op {
namespace {

void infer(Call& c) { infer_creation(c, c[arg::size], 1, 2); }
void plan(Call& c) { plan_fill(c, 0); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "zeros(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "A new tensor of zeros.",
    .samples = "zeros([2, 3])\nzeros([0, 3], f64)\nzeros([2, 64], nf4)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::zeros_op
