#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logical_xor_op = pointwise<2, Types::compare>(
    {
        .sig = "logical_xor(Tensor self, Tensor other) -> Tensor",
        .doc = "True where one of both is nonzero.",
        .inplace = true,
        .complex = complex_logical_xor,
    },
    [](auto a, auto b) { return (a != 0) ^ (b != 0); });

}  // namespace dyadic::DY_ISA
