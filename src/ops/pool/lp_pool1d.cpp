#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::lp_pool1d_op {
namespace {

Tensor compose(Args a) { return pooled_power("lp_pool1d", 1, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "lp_pool1d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
    .doc = "(sum of x^norm_type)^(1 / norm_type) over each window of the last 1 dimension.",
    .kind = OpKind::composite,
    .low = 0.3,
    .high = 2,
    .samples =
        "lp_pool1d(rand(2, 2, 7), 2.0, [2])\n"
        "lp_pool1d(rand(2, 7), 3.0, [3], [2], True)",
    .bad = "lp_pool1d(zeros(3), 2.0, [2]) => lp_pool1d: the input has 2 or 3 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::lp_pool1d_op
