#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp trunc_divide_op = pointwise<2, Types::same>(
    {
        .sig = "trunc_divide(Tensor self, Tensor other) -> Tensor",
        .doc = "self / other rounded toward zero: div(self, other, rounding_mode='trunc'). Integers by zero fail.",
        .inplace = true,
        .low = 1,
        .high = 7,
        .skip = "double_backward: its gradient is constant",
        .variant = ops::trunc_divide_variant,
    },
    [](auto a, auto b) { return div_trunc(a, b); }, [](auto g, auto a, auto b, auto y) { return select(g == g, 0.0, 0.0); },
    [](auto g, auto a, auto b, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
