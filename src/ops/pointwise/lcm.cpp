#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp lcm_op = pointwise<2, Types::same>(
    {
        .sig = "lcm(Tensor self, Tensor other) -> Tensor",
        .doc = "Least common multiple, not negative.",
        .inplace = true,
    },
    [](Whole auto a, Whole auto b) { return lcm(a, b); });

}  // namespace dyadic::DY_ISA
