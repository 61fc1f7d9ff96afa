#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::all_op {
namespace {

void infer(Call& c) { infer_reduction(c, 2, c[arg::self].dtype() == u8 ? u8 : boolean); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "all(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Whether all elements are nonzero, over dim (all dimensions if absent): bool, of uint8 uint8.",
    .samples = "all(randn(3, 4), [0])",
    .infer = infer,
    .flops = reduction_flops,
    .complex = complex_all,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::all>};

}  // namespace dyadic::inline v1::ops::all_op
