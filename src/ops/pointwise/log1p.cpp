#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp log1p_op = pointwise<1, Types::float_out>(
    {
        .sig = "log1p(Tensor self) -> Tensor",
        .doc = "log(1 + x), accurate near zero.",
        .amp = Amp::f32,
        .inplace = true,
        .low = -0.9,
        .complex = complex_log1p,
    },
    [](auto x) { return log1p(x); }, [](auto g, auto x, auto y) { return g / (x + 1.0); });

}  // namespace dyadic::DY_ISA
