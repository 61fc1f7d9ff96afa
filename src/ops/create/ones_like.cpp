#include "ops/common.h"

namespace dyadic::inline v1::ops::ones_like_op {
namespace {

void infer(Call& c) { infer_like_other(c, 1, 2); }
void forward(Call& c) { fill(c.out[0], 1); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "ones_like(Tensor self, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Ones in the shape, dtype and device of self.",
    .samples = "ones_like(randn(2, 3))\nones_like(randn(2, 3), i64)",
    .infer = infer,
    .forward = forward,
    .accepts_blocked = true,
};

}  // namespace dyadic::inline v1::ops::ones_like_op
