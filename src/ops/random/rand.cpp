#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::rand_op {
namespace {

void infer(Call& c) {
  infer_creation(c, c[arg::size], 1, 2);
  check_drawable(c);
}
void plan(Call& c) { plan_draw(c, false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "rand(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Uniform in [0, 1): 24 random bits in f32 and narrower, 53 in f64; the parts of complex numbers too.",
    .samples = "rand([2, 3])\nrand([5], f64)\nrand([700], bf16)\nrand([0])",
    .infer = infer,
    .random = true,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::rand_op
