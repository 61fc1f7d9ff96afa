#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp minimum_op = pointwise<2, Types::same>(
    {
        .sig = "minimum(Tensor self, Tensor other) -> Tensor",
        .doc = "The smaller of a and b; NaN if either is. Equal values share the gradient.",
    },
    [](auto a, auto b) { return min(a, b); },
    [](auto g, auto a, auto b, auto y) { return select(a < b, g, select(a == b, g * 0.5, 0.0)); },
    [](auto g, auto a, auto b, auto y) { return select(b < a, g, select(a == b, g * 0.5, 0.0)); });

}  // namespace dyadic::DY_ISA
