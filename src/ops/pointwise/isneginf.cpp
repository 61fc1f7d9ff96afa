#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isneginf_op = pointwise<1, Types::compare>(
    {
        .sig = "isneginf(Tensor self) -> Tensor",
        .doc = "True where x is negative infinity.",
    },
    [](auto x) { return isinf(x) & (x < 0); });

}  // namespace dyadic::DY_ISA
