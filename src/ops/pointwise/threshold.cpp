#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp threshold_op = pointwise<1, Types::same, 2>(
    {
        .sig = "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
        .doc = "x where it is above threshold, else value; both numbers lose their fractions beside integers.",
        .inplace = true,
        .samples = "threshold(rand(3, 5), 0.1, 20.0)",
        .variant = ops::threshold_variant,
    },
    [](auto x, auto limit, auto value) { return select(x <= limit, value, x); },
    [](auto g, auto x, auto y, auto limit, auto value) { return select(x <= limit, 0.0, g); });

}  // namespace dyadic::DY_ISA
