#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp expm1_op = pointwise<1, Types::float_out>(
    {
        .sig = "expm1(Tensor self) -> Tensor",
        .doc = "exp(x) - 1, accurate near zero.",
        .amp = Amp::f32,
        .inplace = true,
        .complex = complex_expm1,
    },
    [](auto x) { return expm1(x); }, [](auto g, auto x, auto y) { return g * (y + 1.0); });

}  // namespace dyadic::DY_ISA
