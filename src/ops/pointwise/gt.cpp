#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp gt_op = pointwise<2, Types::compare>(
    {
        .sig = "gt(Tensor self, Tensor other) -> Tensor",
        .doc = "True where a > b.",
        .aliases = "greater",
        .inplace = true,
    },
    [](auto a, auto b) { return a > b; });

}  // namespace dyadic::DY_ISA
