#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::adaptive_max_pool1d_op {
namespace {

Tensor compose(Args a) { return adaptive_max("adaptive_max_pool1d", 1, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "adaptive_max_pool1d(Tensor input, int[] output_size) -> Tensor",
    .doc = "The largest elements of the windows of adaptive_avg_pool1d.",
    .kind = OpKind::composite,
    .samples =
        "adaptive_max_pool1d(randn(2, 2, 7), [2])\n"
        "adaptive_max_pool1d(randn(2, 7), [4])",
    .bad = "adaptive_max_pool1d(zeros(3), [2]) => adaptive_max_pool1d: the input has 2 or 3 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::adaptive_max_pool1d_op
