#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp acosh_op = pointwise<1, Types::float_out>(
    {
        .sig = "acosh(Tensor self) -> Tensor",
        .doc = "The inverse of cosh that is not negative; NaN below 1.",
        .aliases = "arccosh",
        .inplace = true,
        .low = 1.2,
        .high = 5,
        .complex = complex_acosh,
    },
    [](auto x) { return acosh(x); }, [](auto g, auto x, auto y) { return g * rsqrt((x - 1.0) * (x + 1.0)); });

}  // namespace dyadic::DY_ISA
