#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp ldexp_op = pointwise<2, Types::float_out>(
    {
        .sig = "ldexp(Tensor self, Tensor other) -> Tensor",
        .doc = "self times 2 to the power other.",
        .inplace = true,
        .complex = complex_ldexp,
    },
    [](auto a, auto b) { return a * exp2(b); }, [](auto g, auto a, auto b, auto y) { return g * exp2(b); },
    [](auto g, auto a, auto b, auto y) { return g * y * 0.6931471805599453; });

}  // namespace dyadic::DY_ISA
