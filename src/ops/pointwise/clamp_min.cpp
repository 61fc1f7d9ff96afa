#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp clamp_min_op = pointwise<2, Types::same>(
    {
        .sig = "clamp_min(Tensor self, Tensor min) -> Tensor",
        .doc = "Values not below min; NaN stays. Equal values share the gradient.",
        .inplace = true,
        .samples = "clamp_min(rand(3, 5), 0.5)",
        .variant = ops::clamp_min_variant,
    },
    [](auto a, auto b) { return max(a, b); },
    [](auto g, auto a, auto b, auto y) { return select(a > b, g, select(a == b, g * 0.5, 0.0)); },
    [](auto g, auto a, auto b, auto y) { return select(a < b, g, select(a == b, g * 0.5, 0.0)); });

}  // namespace dyadic::DY_ISA
