#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sinc_op = pointwise<1, Types::float_out>(
    {
        .sig = "sinc(Tensor self) -> Tensor",
        .doc = "sin(pi x) / (pi x); 1 at 0.",
        .inplace = true,
        .complex = complex_sinc,
    },
    [](auto x) { return select(x == 0, 1.0, sin(x * 3.141592653589793) / (x * 3.141592653589793)); },
    [](auto g, auto x, auto y) { return g * select(x == 0.0, 0.0, (cos(x * 3.141592653589793) - y) / x); });

}  // namespace dyadic::DY_ISA
