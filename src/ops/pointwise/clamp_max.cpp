#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp clamp_max_op = pointwise<2, Types::same>(
    {
        .sig = "clamp_max(Tensor self, Tensor max) -> Tensor",
        .doc = "Values not above max; NaN stays. Equal values share the gradient.",
        .inplace = true,
        .samples = "clamp_max(rand(3, 5), 0.5)",
        .variant = ops::clamp_max_variant,
    },
    [](auto a, auto b) { return min(a, b); },
    [](auto g, auto a, auto b, auto y) { return select(a < b, g, select(a == b, g * 0.5, 0.0)); },
    [](auto g, auto a, auto b, auto y) { return select(a > b, g, select(a == b, g * 0.5, 0.0)); });

}  // namespace dyadic::DY_ISA
