#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isinf_op = holomorphic<1, Types::compare>(
    {
        .sig = "isinf(Tensor self) -> Tensor",
        .doc = "True where x is plus or minus infinity.",
    },
    [](auto x) { return isinf(x); });

}  // namespace dyadic::DY_ISA
