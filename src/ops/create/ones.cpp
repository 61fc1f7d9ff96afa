#include "ops/common.h"

namespace dyadic::inline v1::ops::ones_op {
namespace {

void infer(Call& c) { infer_creation(c, c.ints(0), 1, 2); }
void forward(Call& c) { fill(c.out[0], 1); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "ones(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "A new tensor of ones.",
    .samples = "ones([2, 3])\nones([3], i64)\nones([], bf16)",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops::ones_op
