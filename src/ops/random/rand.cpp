#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::rand_op {
namespace {

void infer(Call& c) {
  infer_creation(c, c.ints(0), 1, 2);
  check_drawable(c);
}
int64_t workspace(const Call& c) { return draw_workspace(c); }
void forward(Call& c) { draw(c, random_uniform, random_uniform); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "rand(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Uniform in [0, 1): 24 random bits in f32 and narrower, 53 in f64; the parts of complex numbers too.",
    .samples = "rand([2, 3])\nrand([5], f64)\nrand([700], bf16)\nrand([0])",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::rand_op
