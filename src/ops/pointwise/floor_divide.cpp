#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp floor_divide_op = pointwise<2, Types::same>(
    {
        .sig = "floor_divide(Tensor self, Tensor other) -> Tensor",
        .doc = "The largest whole number not above self / other. Integers by zero fail.",
        .inplace = true,
        .low = 1,
        .high = 7,
        .variant = ops::floor_divide_variant,
    },
    [](auto a, auto b) { return div_floor(a, b); });

}  // namespace dyadic::DY_ISA
