#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef floor_divide_op = pointwise<2, Types::same>(
    {
        .sig = "floor_divide(Tensor self, Tensor other) -> Tensor",
        .doc = "The largest whole number not above self / other. Of integers by zero: 0.",
        .inplace = true,
        .low = 0.3,
        .high = 7,
    },
    [](auto a, auto b) { return div_floor(a, b); });

}  // namespace dyadic::DY_ISA
