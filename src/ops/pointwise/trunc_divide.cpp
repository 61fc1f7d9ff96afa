#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef trunc_divide_op = pointwise<2, Types::same>(
    {
        .sig = "trunc_divide(Tensor self, Tensor other) -> Tensor",
        .doc = "self / other rounded toward zero: div(self, other, rounding_mode='trunc'). Of integers by zero: 0.",
        .inplace = true,
        .low = 0.3,
        .high = 7,
    },
    [](auto a, auto b) { return div_trunc(a, b); });

}  // namespace dyadic::DY_ISA
