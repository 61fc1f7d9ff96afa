#include "ops/resize/resampling.h"

namespace dyadic::inline v1::ops::resample_op {

using R = Resampling<false>;

extern constexpr OpDef record = {
    .sig = "resample(Tensor input, int dim, int size, int[] map, float scale=0) -> Tensor",
    .doc =
        "Sums of a few weighted neighbours along dim, `size` of them: map [0] takes the nearest element, [1] the nearest "
        "exactly, [2, align_corners] interpolates linearly, [3, align_corners] cubically, [4, kernel, stride, before, behind, "
        "divisor] averages windows, [5] parts; [6, align_corners] and [7, align_corners] are linear and cubic with filters "
        "that "
        "span the elements of a result. scale: elements per result, 0: what the sizes say.",
    .internal = true,
    .samples =
        "resample(randn(2, 5, 3), 1, 7, [2, 0])\nresample(randn(2, 5), -1, 3, [3, 0])\nresample(randn(5), 0, 9, [2, "
        "1])\nresample(randn(2, 5, 2), 1, 3, [4, 3, 2, 1, 1, 0])\nresample(randn(2, 7), 1, 3, [5])\nresample(randn(2, 7), 1, "
        "3, [0])\nresample(randn(2, 7), 1, 3, [6, 0])\nresample(randn(2, 3, 9), 2, 4, [7, 0])",
    .bad = "resample(zeros(2), 0, 3, []) => resample: no axis or no map: input is f32[2], map is []",
    .infer = R::infer,
    .backward = R::backward,
    .flops = R::flops,
};
extern constexpr Kernel cpu = {.plan = R::plan, .dense = true};

}  // namespace dyadic::inline v1::ops::resample_op
