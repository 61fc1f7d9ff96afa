#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp erfc_op = pointwise<1, Types::float_out>(
    {
        .sig = "erfc(Tensor self) -> Tensor",
        .doc = "1 - erf(x), accurate for large x.",
        .inplace = true,
    },
    [](auto x) { return erfc(x); }, [](auto g, auto x, auto y) { return -g * exp(-x * x) * 1.1283791670955126; });

}  // namespace dyadic::DY_ISA
