#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp squared_difference_op = pointwise<2, Types::same>(
    {
        .sig = "squared_difference(Tensor self, Tensor other) -> Tensor",
        .doc = "(self - other)^2.",
        .internal = true,
    },
    [](auto a, auto b) { return (a - b) * (a - b); }, [](auto g, auto a, auto b, auto y) { return g * (2.0 * (a - b)); },
    [](auto g, auto a, auto b, auto y) { return g * (2.0 * (b - a)); });

}  // namespace dyadic::DY_ISA
