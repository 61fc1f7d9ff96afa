#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops::conv_transpose2d_op {
namespace {

Tensor compose(Args args) { return conv_transpose_nd("conv_transpose2d", 2, args); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
        "output_padding=0, "
        "int groups=1, int[] dilation=1) -> Tensor",
    .doc =
        "The transpose of conv2d as a linear map: input [N, C, sizes ...] or [C, sizes ...], weight [C, filters / groups, "
        "sizes ...]. "
        "The result has (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 elements in each dimension.",
    .kind = OpKind::composite,
    .samples =
        "conv_transpose2d(randn(2, 2, 5, 4), randn(2, 3, 3, 2), randn(3))\n"
        "conv_transpose2d(randn(2, 5, 4), randn(2, 1, 3, 2), None, [2], [1], [1], 2)\n"
        "conv_transpose2d(randn(1, 2, 5, 4), randn(2, 1, 3, 2), None, [1], [0], [1], 1, [2])",
    .bad =
        "conv_transpose2d(zeros(1, 2, 5, 4), zeros(2, 1, 3, 2), None, [2], [0], [2]) => conv_transpose2d: output_padding is "
        "smaller "
        "than the stride or the dilation: output_padding is [2], stride is [2], dilation is [1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::conv_transpose2d_op
