#include "ops/common.h"

namespace dyadic::inline v1::ops::full_like_op {
namespace {

void infer(Call& c) { infer_like_other(c, 2, 3); }
void forward(Call& c) { fill(c.out[0], c.scalar(1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "One value in the shape, dtype and device of self.",
    .samples = "full_like(randn(2, 3), 1.5)",
    .infer = infer,
    .forward = forward,
    .accepts_blocked = true,
};

}  // namespace dyadic::inline v1::ops::full_like_op
