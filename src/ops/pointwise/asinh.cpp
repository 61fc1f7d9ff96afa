#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp asinh_op = pointwise<1, Types::float_out>(
    {
        .sig = "asinh(Tensor self) -> Tensor",
        .doc = "Inverse of sinh.",
        .aliases = "arcsinh",
        .inplace = true,
        .complex = complex_asinh,
    },
    [](auto x) { return asinh(x); }, [](auto g, auto x, auto y) { return g * rsqrt(1.0 + x * x); });

}  // namespace dyadic::DY_ISA
