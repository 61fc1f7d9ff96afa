#include "ops/random/masks.h"

namespace dyadic::inline v1::ops::dropout1d_op {
namespace {

Tensor compose(Args args) { return channel_dropout("dropout1d", 1, args); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "dropout1d(Tensor input, float p=0.5, bool training=True) -> Tensor",
    .doc =
        "In training whole channels of [N, C, sizes ...] or [C, sizes ...] are zeroed with probability p and the others scaled "
        "by 1 / (1 - p).",
    .kind = OpKind::composite,
    .samples =
        "dropout1d(randn(2, 2, 2), 0.5, False)\n"
        "dropout1d(randn(3, 3), 0.3)",
    .bad = "dropout1d(zeros(2), 0.5) => dropout1d: the input has 2 or 3 dimensions: input is f32[2]",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::dropout1d_op
