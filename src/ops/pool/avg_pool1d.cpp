#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::avg_pool1d_op {
namespace {

Tensor compose(Args a) { return pooled_mean("avg_pool1d", 1, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
        "count_include_pad=True) -> Tensor",
    .doc =
        "The mean of each window of the last 1 dimension of [N, C, sizes ...] or [C, sizes ...]; padding counts unless "
        "count_include_pad is off.",
    .kind = OpKind::composite,
    .samples =
        "avg_pool1d(randn(2, 2, 7), [2])\n"
        "avg_pool1d(randn(2, 7), [3], [2], [1], True)\n"
        "avg_pool1d(randn(1, 1, 7), [3], [2], [1], False, False)",
    .bad = "avg_pool1d(zeros(3), [2]) => avg_pool1d: the input has 2 or 3 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::avg_pool1d_op
