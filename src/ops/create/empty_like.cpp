#include "corridor/batching.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::empty_like_op {
namespace {

void infer(Call& c) { infer_like_other(c, 1, 2); }
void plan(Call&) {}  // nothing to run

}  // namespace

extern constexpr OpDef record = {
    .sig = "empty_like(Tensor self, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "A new tensor in the shape, dtype and device of self, whose values are whatever was in memory.",
    .samples = "empty_like(randn(2, 3))\nempty_like(randn(2, 3), i64)",
    .skip =
        "values: whatever was in memory\n"
        "layout: whatever was in memory\n"
        "narrow: whatever was in memory\n"
        "scaled: whatever was in memory\n"
        "batched: whatever was in memory\n"
        "torch: whatever was in memory\n"
        "torch_integers: whatever was in memory\n"
        "cost: nothing is computed",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0) | out(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::empty_like_op
