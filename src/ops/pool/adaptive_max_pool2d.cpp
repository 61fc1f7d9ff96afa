#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::adaptive_max_pool2d_op {
namespace {

Tensor compose(Args a) { return adaptive_max("adaptive_max_pool2d", 2, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "adaptive_max_pool2d(Tensor input, int[] output_size) -> Tensor",
    .doc = "The largest elements of the windows of adaptive_avg_pool2d.",
    .kind = OpKind::composite,
    .samples =
        "adaptive_max_pool2d(randn(2, 2, 5, 6), [2])\n"
        "adaptive_max_pool2d(randn(2, 5, 6), [4])",
    .bad = "adaptive_max_pool2d(zeros(3), [2]) => adaptive_max_pool2d: the input has 3 or 4 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::adaptive_max_pool2d_op
