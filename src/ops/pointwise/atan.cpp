#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp atan_op = pointwise<1, Types::float_out>(
    {
        .sig = "atan(Tensor self) -> Tensor",
        .doc = "The angle in [-pi/2, pi/2] whose tangent is x.",
        .aliases = "arctan",
        .inplace = true,
        .complex = complex_atan,
    },
    [](auto x) { return atan(x); }, [](auto g, auto x, auto y) { return g / (1.0 + x * x); });

}  // namespace dyadic::DY_ISA
