#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp fmod_op = pointwise<2, Types::same>(
    {
        .sig = "fmod(Tensor self, Tensor other) -> Tensor",
        .doc = "self - trunc(self / other) other: the remainder with the sign of self. Integers by zero fail.",
        .inplace = true,
        .low = 1,
        .high = 7,
        .variant = ops::fmod_variant,
    },
    [](auto a, auto b) { return fmod(a, b); }, [](auto g, auto a, auto b, auto y) { return g; },
    [](auto g, auto a, auto b, auto y) { return -g * trunc(a / b); });

}  // namespace dyadic::DY_ISA
