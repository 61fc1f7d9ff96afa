#include "ops/scan/scanning.h"

namespace dyadic::inline v1::ops::cummin_op {

using Running = RunningExtreme<ScanOp::min>;

extern constexpr OpDef record = {
    .sig = "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    .doc = "The smallest of the entries of dim so far, and where it is: the last of equal ones. NaN, once there, stays.",
    .samples =
        "cummin(randn(3, 4), 1)\n"
        "cummin(steps(3, 4), 0)\n"
        "cummin(randn(), 0)\n"
        "cummin(randn(0, 2), 0)",
    .infer = Running::infer,
    .backward = Running::backward,
    .needs = {out(1)},
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = Running::plan, .dense = true};

}  // namespace dyadic::inline v1::ops::cummin_op
