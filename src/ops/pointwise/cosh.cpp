#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp cosh_op = pointwise<1, Types::float_out>(
    {
        .sig = "cosh(Tensor self) -> Tensor",
        .doc = "Hyperbolic cosine.",
        .amp = Amp::f32,
        .inplace = true,
        .complex = complex_cosh,
    },
    [](auto x) { return cosh(x); }, [](auto g, auto x, auto y) { return g * sinh(x); });

}  // namespace dyadic::DY_ISA
