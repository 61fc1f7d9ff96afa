#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef lerp_op = pointwise<2, Types::float_out, 1>(
    {
        .sig = "lerp(Tensor self, Tensor end, Scalar weight) -> Tensor",
        .doc = "self + weight * (end - self).",
        .inplace = true,
    },
    [](auto a, auto b, auto w) { return a + w * (b - a); },
    [](auto g, auto a, auto b, auto y, auto w) { return g * (1.0 - w); },
    [](auto g, auto a, auto b, auto y, auto w) { return g * w; });

}  // namespace dyadic::DY_ISA
