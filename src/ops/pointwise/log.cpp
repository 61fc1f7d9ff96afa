#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp log_op = pointwise<1, Types::float_out>(
    {
        .sig = "log(Tensor self) -> Tensor",
        .doc = "Natural logarithm; NaN below zero, -inf at zero.",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.1,
        .complex = complex_log,
    },
    [](auto x) { return log(x); }, [](auto g, auto x, auto y) { return g / x; });

}  // namespace dyadic::DY_ISA
