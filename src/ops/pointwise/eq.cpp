#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp eq_op = holomorphic<2, Types::compare>(
    {
        .sig = "eq(Tensor self, Tensor other) -> Tensor",
        .doc = "True where a is equal to b.",
        .inplace = true,
    },
    [](auto a, auto b) { return a == b; });

}  // namespace dyadic::DY_ISA
