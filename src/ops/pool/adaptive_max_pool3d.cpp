#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::adaptive_max_pool3d_op {
namespace {

Tensor compose(Args a) { return adaptive_max("adaptive_max_pool3d", 3, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "adaptive_max_pool3d(Tensor input, int[] output_size) -> Tensor",
    .doc = "The largest elements of the windows of adaptive_avg_pool3d.",
    .kind = OpKind::composite,
    .samples =
        "adaptive_max_pool3d(randn(2, 2, 4, 3, 5), [2])\n"
        "adaptive_max_pool3d(randn(2, 4, 3, 5), [4])",
    .bad = "adaptive_max_pool3d(zeros(3), [2]) => adaptive_max_pool3d: the input has 4 or 5 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::adaptive_max_pool3d_op
