#include "ops/common.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::clamp_op {

extern constexpr OpDef record = {
    .sig = "clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    .doc = "Values held between min and max, numbers or tensors, either of which may be missing; NaN stays.",
    .aliases = "clip",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "clamp(rand(3, 5), -0.5, 0.75)\nclamp(rand(2, 3), None, 0.75)\nclamp(rand(2, 3), 0.5)\nclamp(rand(2, 3), rand(3), "
        "ones(2, 1))\nclamp(rand(2, 3), rand(3))\nclamp(rand(2, 3), None, rand(2, 1))\nclamp(rand(), 0.5)\nclamp(rand(0), 0.5)",
    .variant = clamp_variant,
};

}  // namespace dyadic::inline v1::ops::clamp_op
