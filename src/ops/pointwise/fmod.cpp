#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef fmod_op = pointwise<2, Types::same>(
    {
        .sig = "fmod(Tensor self, Tensor other) -> Tensor",
        .doc = "self - trunc(self / other) other: the remainder with the sign of self. Of integers by zero: 0.",
        .inplace = true,
        .low = 0.3,
        .high = 7,
    },
    [](auto a, auto b) { return fmod(a, b); }, [](auto g, auto a, auto b, auto y) { return g; },
    [](auto g, auto a, auto b, auto y) { return -g * trunc(a / b); });

}  // namespace dyadic::DY_ISA
