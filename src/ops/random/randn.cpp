#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::randn_op {
namespace {

void infer(Call& c) {
  infer_creation(c, c[arg::size], 1, 2);
  check_drawable(c);
}
void plan(Call& c) { plan_draw(c, true); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "randn(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc =
        "Standard normal (Box and Muller), drawn in f32 (f64 for f64) and rounded once to the dtype. Complex numbers have "
        "variance 1: each part 1/2.",
    .samples = "randn([2, 3])\nrandn([5], f64)\nrandn([701], f16)\nrandn([])",
    .infer = infer,
    .random = true,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::randn_op
