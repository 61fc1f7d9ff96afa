#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bitwise_right_shift_op = pointwise<2, Types::same>(
    {
        .sig = "bitwise_right_shift(Tensor self, Tensor other) -> Tensor",
        .doc = "self over 2^other, rounded down; by the width or more, or a negative number: 0 or -1.",
        .inplace = true,
        .low = 0,
        .high = 7,
    },
    [](Whole auto a, Whole auto b) { return a >> b; });

}  // namespace dyadic::DY_ISA
