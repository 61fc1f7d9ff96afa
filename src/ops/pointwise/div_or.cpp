#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp div_or_op = pointwise<3, Types::float_out>(
    {
        .sig = "div_or(Tensor self, Tensor other, Tensor instead) -> Tensor",
        .doc = "self / other; instead where other is 0; 0 where only self is.",
        .internal = true,
        .low = 0.5,
    },
    [](auto a, auto b, auto c) { return select(b == 0, c, select(a == 0, 0.0, a / b)); },
    [](auto g, auto a, auto b, auto c, auto y) { return select(b == 0, 0.0, g / select(b == 0, 1.0, b)); },
    [](auto g, auto a, auto b, auto c, auto y) { return select(b == 0, 0.0, -g * y / select(b == 0, 1.0, b)); },
    [](auto g, auto a, auto b, auto c, auto y) { return select(b == 0, g, 0.0); });

}  // namespace dyadic::DY_ISA
