#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bitwise_xor_op = pointwise<2, Types::same>(
    {
        .sig = "bitwise_xor(Tensor self, Tensor other) -> Tensor",
        .doc = "The bits that one of both has; of bool: logical xor.",
        .inplace = true,
        .bits = true,
    },
    [](Whole auto a, Whole auto b) { return a ^ b; });

}  // namespace dyadic::DY_ISA
