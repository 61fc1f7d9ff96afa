#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bitwise_and_op = pointwise<2, Types::same>(
    {
        .sig = "bitwise_and(Tensor self, Tensor other) -> Tensor",
        .doc = "The bits that both have; of bool: logical and.",
        .inplace = true,
        .bits = true,
    },
    [](Whole auto a, Whole auto b) { return a & b; });

}  // namespace dyadic::DY_ISA
