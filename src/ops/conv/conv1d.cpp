#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::conv1d_op {
namespace {

Tensor compose(Args args) { return conv_nd("conv1d", 1, args); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int "
        "groups=1) "
        "-> Tensor",
    .doc =
        "Cross-correlation of input [N, C, sizes ...] or [C, sizes ...] with weight [filters, C / groups, sizes ...], plus "
        "bias. padding: "
        "zeros on both sides, a number or one per dimension; or all before and then all behind.",
    .kind = OpKind::composite,
    .samples =
        "conv1d(randn(2, 2, 5), randn(3, 2, 3), randn(3))\n"
        "conv1d(randn(2, 5), randn(4, 1, 3), None, [2], [1], [1], 2)",
    .bad =
        "conv1d(zeros(3), zeros(1, 1, 3)) => conv1d: the input has 2 or 3 dimensions: input is f32[3]\n"
        "conv1d(zeros(1, 1, 5), zeros(1, 1, 3), None, [1], [-1]) => conv1d: negative padding: padding is [-1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::conv1d_op
