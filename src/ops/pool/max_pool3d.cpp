#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::max_pool3d_op {
namespace {

Tensor compose(Args a) { return pooled_max("max_pool3d", 3, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "max_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
        "ceil_mode=False) -> Tensor",
    .doc =
        "The largest element of each window of the last 3 dimensions of [N, C, sizes ...] or [C, sizes ...]; NaN counts as "
        "largest. stride is kernel_size unless given.",
    .kind = OpKind::composite,
    .samples =
        "max_pool3d(randn(2, 2, 4, 3, 5), [2])\n"
        "max_pool3d(randn(2, 4, 3, 5), [3], [2], [1], [1], True)\n"
        "max_pool3d(randn(1, 1, 4, 3, 5), [2], [1], [0], [2])",
    .bad =
        "max_pool3d(zeros(3), [2]) => max_pool3d: the input has 4 or 5 dimensions: input is f32[3]\n"
        "max_pool3d(zeros(1, 1, 4, 3, 5), [2], [2], [2]) => max_pool3d: padding is more than half of the kernel: kernel_size "
        "is [2, 2, 2], padding is [2, 2, 2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_pool3d_op
