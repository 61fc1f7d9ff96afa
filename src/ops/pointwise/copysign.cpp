#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp copysign_op = pointwise<2, Types::float_out>(
    {
        .sig = "copysign(Tensor self, Tensor other) -> Tensor",
        .doc = "|self| with the sign of other.",
        .inplace = true,
    },
    [](auto a, auto b) { return copysign(a, b); },
    [](auto g, auto a, auto b, auto y) { return g * select(a == 0.0, 0.0, y / a); },
    [](auto g, auto a, auto b, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
