#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef pow_op = pointwise<2, Types::same>(
    {
        .sig = "pow(Tensor self, Tensor exponent) -> Tensor",
        .doc = "a to the power b. Integers stay integers and wrap; a negative power of one is rounded toward zero.",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.3,
        .complex = complex_pow,
    },
    [](auto a, auto b) { return pow(a, b); }, [](auto g, auto a, auto b, auto y) { return g * b * pow(a, b - 1.0); },
    [](auto g, auto a, auto b, auto y) { return g * y * log(a); });

}  // namespace dyadic::DY_ISA
