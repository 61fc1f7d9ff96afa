#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp cos_op = pointwise<1, Types::float_out>(
    {
        .sig = "cos(Tensor self) -> Tensor",
        .doc = "Cosine of x in radians.",
        .inplace = true,
        .complex = complex_cos,
    },
    [](auto x) { return cos(x); }, [](auto g, auto x, auto y) { return -g * sin(x); });

}  // namespace dyadic::DY_ISA
