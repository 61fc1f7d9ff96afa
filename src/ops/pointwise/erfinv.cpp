#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp erfinv_op = pointwise<1, Types::float_out>(
    {
        .sig = "erfinv(Tensor self) -> Tensor",
        .doc = "Inverse of erf on (-1, 1).",
        .amp = Amp::f32,
        .inplace = true,
        .low = -0.9,
        .high = 0.9,
    },
    [](auto x) { return erfinv(x); }, [](auto g, auto x, auto y) { return g * exp(y * y) * 0.886226925452758; });

}  // namespace dyadic::DY_ISA
