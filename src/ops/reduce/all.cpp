#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::all_op {
namespace {

void infer(Call& c) { infer_reduction(c, 2, c.tensor(0).dtype() == u8 ? u8 : boolean); }
void forward(Call& c) { run_reduction(c, ReduceOp::all); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::all); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "all(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Whether all elements are nonzero, over dim (all dimensions if absent): bool, of uint8 uint8.",
    .samples = "all(randn(3, 4), [0])",
    .infer = infer,
    .forward = forward,
    .flops = reduction_flops,
    .workspace = workspace,
    .complex = complex_all,
};

}  // namespace dyadic::inline v1::ops::all_op
