#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sin_op = pointwise<1, Types::float_out>(
    {
        .sig = "sin(Tensor self) -> Tensor",
        .doc = "Sine of x in radians.",
        .inplace = true,
        .complex = complex_sin,
    },
    [](auto x) { return sin(x); }, [](auto g, auto x, auto y) { return g * cos(x); });

}  // namespace dyadic::DY_ISA
