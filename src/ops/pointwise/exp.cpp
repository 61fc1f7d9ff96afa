#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp exp_op = pointwise<1, Types::float_out>(
    {
        .sig = "exp(Tensor self) -> Tensor",
        .doc = "e to the power x.",
        .amp = Amp::f32,
        .inplace = true,
        .complex = complex_exp,
    },
    [](auto x) { return exp(x); }, [](auto g, auto x, auto y) { return g * y; });

}  // namespace dyadic::DY_ISA
