#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp clamp_below_op = pointwise<1, Types::same, 1>(
    {
        .sig = "clamp_below(Tensor self, Scalar max) -> Tensor",
        .doc = "clamp_max of a number: values not above max; NaN stays. The gradient passes strictly below.",
        .inplace = true,
        .internal = true,
    },
    [](auto x, auto high) { return min(x, high); }, [](auto g, auto x, auto y, auto high) { return select(x < high, g, 0.0); });

}  // namespace dyadic::DY_ISA
