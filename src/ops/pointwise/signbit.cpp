#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp signbit_op = pointwise<1, Types::compare>(
    {
        .sig = "signbit(Tensor self) -> Tensor",
        .doc = "True where the sign is minus, of -0.0 and NaN too.",
    },
    [](auto x) { return signbit(x); });

}  // namespace dyadic::DY_ISA
