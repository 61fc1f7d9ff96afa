#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logical_not_op = pointwise<1, Types::compare>(
    {
        .sig = "logical_not(Tensor self) -> Tensor",
        .doc = "True where x is zero.",
        .inplace = true,
        .complex = complex_logical_not,
    },
    [](auto x) { return x == 0; });

}  // namespace dyadic::DY_ISA
