#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isfinite_op = holomorphic<1, Types::compare>(
    {
        .sig = "isfinite(Tensor self) -> Tensor",
        .doc = "True where x is neither NaN nor infinite.",
    },
    [](auto x) { return isfinite(x); });

}  // namespace dyadic::DY_ISA
