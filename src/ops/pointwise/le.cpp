#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp le_op = pointwise<2, Types::compare>(
    {
        .sig = "le(Tensor self, Tensor other) -> Tensor",
        .doc = "True where a <= b.",
        .aliases = "less_equal",
        .inplace = true,
    },
    [](auto a, auto b) { return a <= b; });

}  // namespace dyadic::DY_ISA
