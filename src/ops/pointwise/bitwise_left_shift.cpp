#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bitwise_left_shift_op = pointwise<2, Types::same>(
    {
        .sig = "bitwise_left_shift(Tensor self, Tensor other) -> Tensor",
        .doc = "self times 2^other, wrapped; by the width or more, or a negative number: 0.",
        .inplace = true,
        .low = 0,
        .high = 7,
    },
    [](Whole auto a, Whole auto b) { return a << b; });

}  // namespace dyadic::DY_ISA
