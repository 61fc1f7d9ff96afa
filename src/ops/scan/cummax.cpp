#include "ops/scan/scanning.h"

namespace dyadic::inline v1::ops::cummax_op {

using Running = RunningExtreme<ScanOp::max>;

extern constexpr OpDef record = {
    .sig = "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    .doc = "The largest of the entries of dim so far, and where it is: the last of equal ones. NaN, once there, stays.",
    .samples =
        "cummax(randn(3, 4), 1)\n"
        "cummax(steps(3, 4), 0)\n"
        "cummax(randn(), 0)\n"
        "cummax(randn(0, 2), 0)",
    .infer = Running::infer,
    .backward = Running::backward,
    .needs = {out(1)},
    .flops = reduction_flops,
};
extern constexpr Kernel cpu = {.plan = Running::plan, .dense = true};

}  // namespace dyadic::inline v1::ops::cummax_op
