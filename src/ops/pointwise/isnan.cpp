#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isnan_op = holomorphic<1, Types::compare>(
    {
        .sig = "isnan(Tensor self) -> Tensor",
        .doc = "True where x is NaN.",
    },
    [](auto x) { return isnan(x); });

}  // namespace dyadic::DY_ISA
