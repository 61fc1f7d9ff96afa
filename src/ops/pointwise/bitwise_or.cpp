#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bitwise_or_op = pointwise<2, Types::same>(
    {
        .sig = "bitwise_or(Tensor self, Tensor other) -> Tensor",
        .doc = "The bits that either has; of bool: logical or.",
        .inplace = true,
        .bits = true,
    },
    [](Whole auto a, Whole auto b) { return a | b; });

}  // namespace dyadic::DY_ISA
