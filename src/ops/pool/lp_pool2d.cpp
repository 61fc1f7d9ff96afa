#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::lp_pool2d_op {
namespace {

Tensor compose(Args a) { return pooled_power("lp_pool2d", 2, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "lp_pool2d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
    .doc = "(sum of x^norm_type)^(1 / norm_type) over each window of the last 2 dimensions.",
    .kind = OpKind::composite,
    .low = 0.3,
    .high = 2,
    .samples =
        "lp_pool2d(rand(2, 2, 5, 6), 2.0, [2])\n"
        "lp_pool2d(rand(2, 5, 6), 3.0, [3], [2], True)",
    .bad = "lp_pool2d(zeros(3), 2.0, [2]) => lp_pool2d: the input has 3 or 4 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::lp_pool2d_op
