#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp floor_divide_op = pointwise<2, Types::same>(
    {
        .sig = "floor_divide(Tensor self, Tensor other) -> Tensor",
        .doc = "The largest whole number not above self / other. Integers by zero fail.",
        .inplace = true,
        .low = 1,
        .high = 7,
        .skip = "double_backward: its gradient is constant",
        .variant = ops::floor_divide_variant,
    },
    [](auto a, auto b) { return div_floor(a, b); }, [](auto g, auto a, auto b, auto y) { return select(g == g, 0.0, 0.0); },
    [](auto g, auto a, auto b, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
