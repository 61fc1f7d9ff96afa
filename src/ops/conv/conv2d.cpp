#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::conv2d_op {
namespace {

Tensor compose(Args args) { return conv_nd("conv2d", 2, args); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int "
        "groups=1) "
        "-> Tensor",
    .doc =
        "Cross-correlation of input [N, C, sizes ...] or [C, sizes ...] with weight [filters, C / groups, sizes ...], plus "
        "bias. padding: "
        "zeros on both sides, a number or one per dimension; or all before and then all behind.",
    .kind = OpKind::composite,
    .samples =
        "conv2d(randn(2, 2, 5, 4), randn(3, 2, 3, 2), randn(3))\n"
        "conv2d(randn(2, 5, 4), randn(4, 1, 3, 2), None, [2], [1], [1], 2)\n"
        "conv2d(randn(1, 2, 5, 4; complex), randn(2, 1, 3, 2; complex), None, [1], [0], [1], 2)",
    .bad =
        "conv2d(zeros(3), zeros(1, 1, 3, 3)) => conv2d: the input has 3 or 4 dimensions: input is f32[3]\n"
        "conv2d(zeros(1, 1, 5, 4), zeros(1, 1, 3, 2), None, [1], [-1]) => conv2d: negative padding: padding is [-1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::conv2d_op
