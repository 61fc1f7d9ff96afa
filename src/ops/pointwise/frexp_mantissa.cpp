#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp frexp_mantissa_op = pointwise<1, Types::float_out>(
    {
        .sig = "frexp_mantissa(Tensor self) -> Tensor",
        .doc = "self over the power of two that brings it into [0.5, 1).",
        .internal = true,
        .low = 0.55,
        .high = 0.95,
    },
    [](auto x) { return frexp_mantissa(x); }, [](auto g, auto x, auto y) { return g * exp2(-frexp_exponent(x)); });

}  // namespace dyadic::DY_ISA
