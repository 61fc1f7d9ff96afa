#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp asin_op = pointwise<1, Types::float_out>(
    {
        .sig = "asin(Tensor self) -> Tensor",
        .doc = "The angle in [-pi/2, pi/2] whose sine is x.",
        .aliases = "arcsin",
        .amp = Amp::f32,
        .inplace = true,
        .low = -0.9,
        .high = 0.9,
        .complex = complex_asin,
    },
    [](auto x) { return asin(x); }, [](auto g, auto x, auto y) { return g * rsqrt(1.0 - x * x); });

}  // namespace dyadic::DY_ISA
