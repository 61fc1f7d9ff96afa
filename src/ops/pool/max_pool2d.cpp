#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::max_pool2d_op {
namespace {

Tensor compose(Args a) { return pooled_max("max_pool2d", 2, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
        "ceil_mode=False) -> Tensor",
    .doc =
        "The largest element of each window of the last 2 dimensions of [N, C, sizes ...] or [C, sizes ...]; NaN counts as "
        "largest. stride is kernel_size unless given.",
    .kind = OpKind::composite,
    .samples =
        "max_pool2d(randn(2, 2, 5, 6), [2])\n"
        "max_pool2d(randn(2, 5, 6), [3], [2], [1], [1], True)\n"
        "max_pool2d(randn(1, 1, 5, 6), [2], [1], [0], [2])",
    .bad =
        "max_pool2d(zeros(3), [2]) => max_pool2d: the input has 3 or 4 dimensions: input is f32[3]\n"
        "max_pool2d(zeros(1, 1, 5, 6), [2], [2], [2]) => max_pool2d: padding is more than half of the kernel: kernel_size is "
        "[2, 2], padding is [2, 2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_pool2d_op
