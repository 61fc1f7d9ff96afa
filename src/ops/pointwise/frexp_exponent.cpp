#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp frexp_exponent_op = pointwise<1, Types::float_out>(
    {
        .sig = "frexp_exponent(Tensor self) -> Tensor",
        .doc = "e for self = m 2^e with |m| in [0.5, 1); 0 for what is zero or not finite. No gradient.",
        .internal = true,
    },
    [](auto x) { return frexp_exponent(x); });

}  // namespace dyadic::DY_ISA
