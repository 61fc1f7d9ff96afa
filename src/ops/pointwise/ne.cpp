#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp ne_op = holomorphic<2, Types::compare>(
    {
        .sig = "ne(Tensor self, Tensor other) -> Tensor",
        .doc = "True where a is not equal to b.",
        .aliases = "not_equal",
        .inplace = true,
    },
    [](auto a, auto b) { return a != b; });

}  // namespace dyadic::DY_ISA
