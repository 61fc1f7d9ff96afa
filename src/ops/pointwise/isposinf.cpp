#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isposinf_op = pointwise<1, Types::compare>(
    {
        .sig = "isposinf(Tensor self) -> Tensor",
        .doc = "True where x is positive infinity.",
    },
    [](auto x) { return isinf(x) & (x > 0); });

}  // namespace dyadic::DY_ISA
