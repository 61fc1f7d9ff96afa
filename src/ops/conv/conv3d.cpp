#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::conv3d_op {
namespace {

Tensor compose(Args args) { return conv_nd("conv3d", 3, args); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int "
        "groups=1) "
        "-> Tensor",
    .doc =
        "Cross-correlation of input [N, C, sizes ...] or [C, sizes ...] with weight [filters, C / groups, sizes ...], plus "
        "bias. padding: "
        "zeros on both sides, a number or one per dimension; or all before and then all behind.",
    .kind = OpKind::composite,
    .samples =
        "conv3d(randn(2, 2, 3, 4, 3), randn(3, 2, 2, 2, 2), randn(3))\n"
        "conv3d(randn(2, 3, 4, 3), randn(4, 1, 2, 2, 2), None, [2], [1], [1], 2)",
    .bad =
        "conv3d(zeros(3), zeros(1, 1, 3, 3, 3)) => conv3d: the input has 4 or 5 dimensions: input is f32[3]\n"
        "conv3d(zeros(1, 1, 3, 4, 3), zeros(1, 1, 2, 2, 2), None, [1], [-1]) => conv3d: negative padding: padding is [-1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::conv3d_op
