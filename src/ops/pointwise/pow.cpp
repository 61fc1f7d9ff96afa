#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp pow_op = pointwise<2, Types::same>(
    {
        .sig = "pow(Tensor self, Tensor exponent) -> Tensor",
        .doc = "a to the power b. Integers stay integers and wrap; to a negative number they fail, to a negative power in a "
               "tensor "
               "the result is rounded toward zero.",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.3,
        .complex = complex_pow,
        .variant = ops::pow_variant,
    },
    [](auto a, auto b) { return pow(a, b); },
    [](auto g, auto a, auto b, auto y) { return g * b * pow(a, b - select(b == 0.0, 0.0, 1.0)); },  // 0 at b = 0
    [](auto g, auto a, auto b, auto y) { return g * y * log(select((a == 0.0) & (b >= 0.0), 1.0, a)); });

}  // namespace dyadic::DY_ISA
