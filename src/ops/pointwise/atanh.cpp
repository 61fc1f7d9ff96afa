#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp atanh_op = pointwise<1, Types::float_out>(
    {
        .sig = "atanh(Tensor self) -> Tensor",
        .doc = "Inverse of tanh.",
        .aliases = "arctanh",
        .inplace = true,
        .low = -0.9,
        .high = 0.9,
        .complex = complex_atanh,
    },
    [](auto x) { return atanh(x); }, [](auto g, auto x, auto y) { return g / ((1.0 - x) * (1.0 + x)); });

}  // namespace dyadic::DY_ISA
