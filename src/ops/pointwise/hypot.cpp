#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp hypot_op = pointwise<2, Types::float_out>(
    {
        .sig = "hypot(Tensor self, Tensor other) -> Tensor",
        .doc = "sqrt(self^2 + other^2), without overflow on the way.",
        .inplace = true,
    },
    [](auto a, auto b) { return hypot(a, b); }, [](auto g, auto a, auto b, auto y) { return g * a / y; },
    [](auto g, auto a, auto b, auto y) { return g * b / y; });

}  // namespace dyadic::DY_ISA
