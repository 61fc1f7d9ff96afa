#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::avg_pool2d_op {
namespace {

Tensor compose(Args a) { return pooled_mean("avg_pool2d", 2, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
        "count_include_pad=True, int? divisor_override=None) -> Tensor",
    .doc =
        "The mean of each window of the last 2 dimensions of [N, C, sizes ...] or [C, sizes ...]; padding counts unless "
        "count_include_pad is off; divisor_override divides the sum instead.",
    .kind = OpKind::composite,
    .samples =
        "avg_pool2d(randn(2, 2, 5, 6), [2])\n"
        "avg_pool2d(randn(2, 5, 6), [3], [2], [1], True)\n"
        "avg_pool2d(randn(1, 1, 5, 6), [3], [2], [1], False, False)\n"
        "avg_pool2d(randn(1, 1, 5, 6), [2], None, [0], False, True, 3)",
    .bad = "avg_pool2d(zeros(3), [2]) => avg_pool2d: the input has 3 or 4 dimensions: input is f32[3]",
    .skip = "integer_values: the exact mean is cut off, that of floats may be a rounding below it",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::avg_pool2d_op
