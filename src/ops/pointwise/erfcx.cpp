#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp erfcx_op = pointwise<1, Types::float_out>(
    {
        .sig = "erfcx(Tensor self) -> Tensor",
        .doc = "exp(x^2) erfc(x), which erfc alone would lose to underflow.",
    },
    [](auto x) { return erfcx(x); }, [](auto g, auto x, auto y) { return g * (2.0 * x * y - 1.1283791670955126); });

}  // namespace dyadic::DY_ISA
