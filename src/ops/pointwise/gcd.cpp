#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp gcd_op = pointwise<2, Types::same>(
    {
        .sig = "gcd(Tensor self, Tensor other) -> Tensor",
        .doc = "Greatest common divisor, not negative.",
        .inplace = true,
    },
    [](Whole auto a, Whole auto b) { return gcd(a, b); });

}  // namespace dyadic::DY_ISA
