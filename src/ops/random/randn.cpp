#include <cmath>

#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::randn_op {
namespace {

void infer(Call& c) {
  infer_creation(c, c.ints(0), 1, 2);
  check_drawable(c);
}
int64_t workspace(const Call& c) { return draw_workspace(c); }
void forward(Call& c) {
  draw(c, random_normal, random_normal);
  if (c.out[0].dtype().is_complex()) complex_parts(c.out[0]).mul_(std::sqrt(0.5));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "randn(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc =
        "Standard normal (Box and Muller), drawn in f32 (f64 for f64) and rounded once to the dtype. Complex numbers have "
        "variance 1: each part 1/2.",
    .samples = "randn([2, 3])\nrandn([5], f64)\nrandn([701], f16)\nrandn([])",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::randn_op
