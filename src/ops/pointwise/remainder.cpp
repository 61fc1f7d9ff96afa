#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp remainder_op = pointwise<2, Types::same>(
    {
        .sig = "remainder(Tensor self, Tensor other) -> Tensor",
        .doc = "self - floor(self / other) other: the remainder with the sign of other, as in Python. Integers by zero fail.",
        .inplace = true,
        .low = 1,
        .high = 7,
        .variant = ops::remainder_variant,
    },
    [](auto a, auto b) { return remainder(a, b); }, [](auto g, auto a, auto b, auto y) { return g; },
    [](auto g, auto a, auto b, auto y) { return -g * floor(a / b); });

}  // namespace dyadic::DY_ISA
