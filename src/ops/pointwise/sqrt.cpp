#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sqrt_op = pointwise<1, Types::float_out>(
    {
        .sig = "sqrt(Tensor self) -> Tensor",
        .doc = "Square root; NaN below zero.",
        .inplace = true,
        .low = 0.1,
        .complex = complex_sqrt,
    },
    [](auto x) { return sqrt(x); }, [](auto g, auto x, auto y) { return g / (y * 2.0); });

}  // namespace dyadic::DY_ISA
