#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bitwise_not_op = pointwise<1, Types::same>(
    {
        .sig = "bitwise_not(Tensor self) -> Tensor",
        .doc = "The bits that x does not have; of bool: logical not.",
        .inplace = true,
        .variant = ops::bitwise_not_variant,
    },
    [](Whole auto x) { return ~x; });

}  // namespace dyadic::DY_ISA
