#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp ge_op = pointwise<2, Types::compare>(
    {
        .sig = "ge(Tensor self, Tensor other) -> Tensor",
        .doc = "True where a >= b.",
        .aliases = "greater_equal",
        .inplace = true,
    },
    [](auto a, auto b) { return a >= b; });

}  // namespace dyadic::DY_ISA
