#include "ops/random/generator.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  infer_creation(c, c.ints(0), 1, 2);
  DY_CHECK_AS(TypeError, c.spec[0].dtype.is_floating_point(), "randn: only floating-point dtypes: dtype is {}",
              c.spec[0].dtype.name());
}
int64_t workspace(const Call& c) { return draw_workspace(c); }
void forward(Call& c) { draw(c, random_normal, random_normal); }

}  // namespace

extern constexpr OpDef randn_op = {
    .sig = "randn(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Standard normal (Box and Muller), drawn in f32 (f64 for f64) and rounded once to the dtype.",
    .samples = "randn([2, 3])\nrandn([5], f64)\nrandn([701], f16)\nrandn([])",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .random = true,
};

}  // namespace dyadic::inline v1::ops
