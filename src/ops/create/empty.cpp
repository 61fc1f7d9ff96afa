#include "ops/common.h"

namespace dyadic::inline v1::ops::empty_op {
namespace {

void infer(Call& c) { infer_creation(c, c[arg::size], 1, 2); }
void plan(Call&) {}  // nothing to run

}  // namespace

extern constexpr OpDef record = {
    .sig = "empty(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "A new tensor whose values are whatever was in memory.",
    .samples = "empty([2, 3])",
    .skip = "values: whatever was in memory",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = out(0)};

}  // namespace dyadic::inline v1::ops::empty_op
