#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::adaptive_avg_pool2d_op {
namespace {

Tensor compose(Args a) { return adaptive_mean("adaptive_avg_pool2d", 2, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "adaptive_avg_pool2d(Tensor input, int[] output_size) -> Tensor",
    .doc =
        "Means over windows that divide the last 2 dimensions into output_size parts: part i of n spans floor(i size / n) to "
        "ceil((i + 1) size / n).",
    .kind = OpKind::composite,
    .samples =
        "adaptive_avg_pool2d(randn(2, 2, 5, 6), [2])\n"
        "adaptive_avg_pool2d(randn(2, 5, 6), [4])",
    .bad = "adaptive_avg_pool2d(zeros(3), [2]) => adaptive_avg_pool2d: the input has 3 or 4 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::adaptive_avg_pool2d_op
