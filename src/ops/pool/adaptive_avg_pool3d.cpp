#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::adaptive_avg_pool3d_op {
namespace {

Tensor compose(Args a) { return adaptive_mean("adaptive_avg_pool3d", 3, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "adaptive_avg_pool3d(Tensor input, int[] output_size) -> Tensor",
    .doc =
        "Means over windows that divide the last 3 dimensions into output_size parts: part i of n spans floor(i size / n) to "
        "ceil((i + 1) size / n).",
    .kind = OpKind::composite,
    .samples =
        "adaptive_avg_pool3d(randn(2, 2, 4, 3, 5), [2])\n"
        "adaptive_avg_pool3d(randn(2, 4, 3, 5), [4])",
    .bad = "adaptive_avg_pool3d(zeros(3), [2]) => adaptive_avg_pool3d: the input has 4 or 5 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::adaptive_avg_pool3d_op
