#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::max_pool1d_op {
namespace {

Tensor compose(Args a) { return pooled_max("max_pool1d", 1, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "max_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
        "ceil_mode=False) -> Tensor",
    .doc =
        "The largest element of each window of the last 1 dimension of [N, C, sizes ...] or [C, sizes ...]; NaN counts as "
        "largest. stride is kernel_size unless given.",
    .kind = OpKind::composite,
    .samples =
        "max_pool1d(randn(2, 2, 7), [2])\n"
        "max_pool1d(randn(2, 7), [3], [2], [1], [1], True)\n"
        "max_pool1d(randn(1, 1, 7), [2], [1], [0], [2])",
    .bad =
        "max_pool1d(zeros(3), [2]) => max_pool1d: the input has 2 or 3 dimensions: input is f32[3]\n"
        "max_pool1d(zeros(1, 1, 7), [2], [2], [2]) => max_pool1d: padding is more than half of the kernel: kernel_size is [2], "
        "padding is [2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_pool1d_op
