#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logical_and_op = pointwise<2, Types::compare>(
    {
        .sig = "logical_and(Tensor self, Tensor other) -> Tensor",
        .doc = "True where both are nonzero.",
        .inplace = true,
        .complex = complex_logical_and,
    },
    [](auto a, auto b) { return (a != 0) & (b != 0); });

}  // namespace dyadic::DY_ISA
