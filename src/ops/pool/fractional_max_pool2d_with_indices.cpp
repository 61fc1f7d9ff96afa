#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::fractional_max_pool2d_with_indices_op {
namespace {

std::vector<Tensor> compose(Args args) { return fractional_max("fractional_max_pool2d", 2, args); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "fractional_max_pool2d_with_indices(Tensor input, int[] kernel_size, int[] output_size, Tensor? _random_samples=None) "
        "-> "
        "(Tensor, Tensor)",
    .doc =
        "The largest element of each of output_size windows over images [N, C, H, W], or without N, and its index in "
        "the channel. Windows lie at steps of irregular length, which a number in [0, 1) per channel and dimension decides: "
        "_random_samples [N, C, 2], drawn unless given. (Graham 2014.)",
    .kind = OpKind::composite,
    .low = 0,
    .high = 1,
    .samples =
        "fractional_max_pool2d_with_indices(randn(2, 2, 5, 6), [2], [3, 4], rand(2, 2, 2))\n"
        "fractional_max_pool2d_with_indices(randn(2, 6, 7), [3, 2], [2], rand(1, 2, 2))",
    .bad =
        "fractional_max_pool2d_with_indices(zeros(3), [2], [2]) => fractional_max_pool2d: the input has 3 or 4 dimensions: "
        "input is f32[3]\n"
        "fractional_max_pool2d_with_indices(zeros(1, 2, 3, 3), [2], [3]) => fractional_max_pool2d: the windows do "
        "not fit: input is f32[1, 2, 3, 3], kernel_size is [2, 2], output_size is [3, 3]\n"
        "fractional_max_pool2d_with_indices(zeros(1, 2, 3, 3), [2], [2], zeros(1, 2, 1)) => fractional_max_pool2d: a "
        "number in [0, 1) for each channel and dimension is needed: input is f32[1, 2, 3, 3], _random_samples is "
        "f32[1, 2, 1]",
    .skip = "second_output: indices are not differentiated",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::fractional_max_pool2d_with_indices_op
