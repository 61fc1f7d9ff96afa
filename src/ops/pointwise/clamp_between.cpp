#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp clamp_between_op = pointwise<1, Types::same, 2>(
    {
        .sig = "clamp_between(Tensor self, Scalar min, Scalar max) -> Tensor",
        .doc = "clamp of numbers: values held between min and max; NaN stays. The gradient passes strictly between them.",
        .inplace = true,
        .internal = true,
    },
    [](auto x, auto low, auto high) { return min(max(x, low), high); },
    [](auto g, auto x, auto y, auto low, auto high) { return select((x > low) & (x < high), g, 0.0); });

}  // namespace dyadic::DY_ISA
