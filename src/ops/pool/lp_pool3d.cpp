#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::lp_pool3d_op {
namespace {

Tensor compose(Args a) { return pooled_power("lp_pool3d", 3, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "lp_pool3d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
    .doc = "(sum of x^norm_type)^(1 / norm_type) over each window of the last 3 dimensions.",
    .kind = OpKind::composite,
    .low = 0.3,
    .high = 2,
    .samples =
        "lp_pool3d(rand(2, 2, 4, 3, 5), 2.0, [2])\n"
        "lp_pool3d(rand(2, 4, 3, 5), 3.0, [3], [2], True)",
    .bad = "lp_pool3d(zeros(3), 2.0, [2]) => lp_pool3d: the input has 4 or 5 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::lp_pool3d_op
