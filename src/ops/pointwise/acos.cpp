#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp acos_op = pointwise<1, Types::float_out>(
    {
        .sig = "acos(Tensor self) -> Tensor",
        .doc = "The angle in [0, pi] whose cosine is x.",
        .aliases = "arccos",
        .amp = Amp::f32,
        .inplace = true,
        .low = -0.9,
        .high = 0.9,
        .complex = complex_acos,
    },
    [](auto x) { return acos(x); }, [](auto g, auto x, auto y) { return -g * rsqrt(1.0 - x * x); });

}  // namespace dyadic::DY_ISA
