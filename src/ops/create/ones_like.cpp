#include "corridor/batching.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::ones_like_op {
namespace {

void infer(Call& c) { infer_like_other(c, 1, 2); }
void plan(Call& c) { plan_fill(c, 1); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "ones_like(Tensor self, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Ones in the shape, dtype and device of self.",
    .samples = "ones_like(randn(2, 3))\nones_like(randn(2, 3), i64)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::ones_like_op
