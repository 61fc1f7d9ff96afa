#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp tan_op = pointwise<1, Types::float_out>(
    {
        .sig = "tan(Tensor self) -> Tensor",
        .doc = "Tangent.",
        .amp = Amp::f32,
        .inplace = true,
        .low = -1.3,
        .high = 1.3,
        .complex = complex_tan,
    },
    [](auto x) { return tan(x); }, [](auto g, auto x, auto y) { return g * (1.0 + y * y); });

}  // namespace dyadic::DY_ISA
