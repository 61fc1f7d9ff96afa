#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sinh_op = pointwise<1, Types::float_out>(
    {
        .sig = "sinh(Tensor self) -> Tensor",
        .doc = "Hyperbolic sine.",
        .amp = Amp::f32,
        .inplace = true,
        .complex = complex_sinh,
    },
    [](auto x) { return sinh(x); }, [](auto g, auto x, auto y) { return g * cosh(x); });

}  // namespace dyadic::DY_ISA
