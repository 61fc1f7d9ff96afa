#include "corridor/batching.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::zeros_like_op {
namespace {

void infer(Call& c) { infer_like_other(c, 1, 2); }
void plan(Call& c) { plan_fill(c, 0); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "zeros_like(Tensor self, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Zeros in the shape, dtype and device of self.",
    .samples = "zeros_like(randn(2, 3))\nzeros_like(randn(2, 3), bool)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::zeros_like_op
