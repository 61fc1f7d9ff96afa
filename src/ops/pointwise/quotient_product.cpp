#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp quotient_product_op = pointwise<3, Types::float_out>(
    {
        .sig = "quotient_product(Tensor self, Tensor below, Tensor other) -> Tensor",
        .doc = "(self / below) other.",
        .internal = true,
        .low = 0.5,
        .high = 2,
    },
    [](auto a, auto b, auto c) { return a / b * c; }, [](auto g, auto a, auto b, auto c, auto y) { return g * c / b; },
    [](auto g, auto a, auto b, auto c, auto y) { return -(g * y) / b; },
    [](auto g, auto a, auto b, auto c, auto y) { return g * (a / b); });

}  // namespace dyadic::DY_ISA
