#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp clamp_above_op = pointwise<1, Types::same, 1>(
    {
        .sig = "clamp_above(Tensor self, Scalar min) -> Tensor",
        .doc = "clamp_min of a number: values not below min; NaN stays. The gradient passes strictly above.",
        .inplace = true,
        .internal = true,
    },
    [](auto x, auto low) { return max(x, low); }, [](auto g, auto x, auto y, auto low) { return select(x > low, g, 0.0); });

}  // namespace dyadic::DY_ISA
