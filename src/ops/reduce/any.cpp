#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::any_op {
namespace {

void infer(Call& c) { infer_reduction(c, 2, c[arg::self].dtype() == u8 ? u8 : boolean); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "any(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc = "Whether any element is nonzero, over dim (all dimensions if absent): bool, of uint8 uint8.",
    .samples = "any(randn(3, 4), [0])",
    .infer = infer,
    .flops = reduction_flops,
    .complex = complex_any,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::any>};

}  // namespace dyadic::inline v1::ops::any_op
