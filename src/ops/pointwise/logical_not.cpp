#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef logical_not_op = pointwise<1, Types::compare>(
    {
        .sig = "logical_not(Tensor self) -> Tensor",
        .doc = "True where x is zero.",
    },
    [](auto x) { return x == 0; });

}  // namespace dyadic::DY_ISA
