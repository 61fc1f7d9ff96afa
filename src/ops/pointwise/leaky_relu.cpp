#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp leaky_relu_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
        .doc = "x where x > 0, else negative_slope * x.",
    },
    [](auto x, auto slope) { return select(x > 0.0, x, x * slope); },
    [](auto g, auto x, auto y, auto slope) { return select(x > 0.0, g, g * slope); });

}  // namespace dyadic::DY_ISA
