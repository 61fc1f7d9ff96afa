#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp tanh_op = pointwise<1, Types::float_out>(
    {
        .sig = "tanh(Tensor self) -> Tensor",
        .doc = "Hyperbolic tangent.",
        .inplace = true,
        .complex = complex_tanh,
    },
    [](auto x) { return tanh(x); }, [](auto g, auto x, auto y) { return g * (1.0 - y * y); });

}  // namespace dyadic::DY_ISA
