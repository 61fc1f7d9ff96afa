#include "ops/resize/resampling.h"

namespace dyadic::inline v1::ops::resample_backward_op {

using R = Resampling<true>;

extern constexpr OpDef record = {
    .sig = "resample_backward(Tensor grad, int dim, int size, int[] map, float scale=0) -> Tensor",
    .doc = "The transpose of resample: a gradient along dim carried to `size` elements.",
    .internal = true,
    .samples =
        "resample_backward(randn(2, 7, 3), 1, 5, [2, 0])\nresample_backward(randn(2, 3), -1, 5, [3, "
        "0])\nresample_backward(randn(2, 3, 2), 1, 5, [4, 3, 2, 1, 1, 0])\nresample_backward(randn(2, 3), 1, 7, [5])",
    .bad = "resample_backward(zeros(2), 0, 3, []) => resample_backward: no axis or no map: grad is f32[2], map is []",
    .infer = R::infer,
    .backward = R::backward,
    .flops = R::flops,
};
extern constexpr Kernel cpu = {.plan = R::plan, .dense = true};

}  // namespace dyadic::inline v1::ops::resample_backward_op
