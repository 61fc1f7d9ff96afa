#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp lt_op = pointwise<2, Types::compare>(
    {
        .sig = "lt(Tensor self, Tensor other) -> Tensor",
        .doc = "True where a < b.",
        .aliases = "less",
        .inplace = true,
    },
    [](auto a, auto b) { return a < b; });

}  // namespace dyadic::DY_ISA
