#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp erf_op = pointwise<1, Types::float_out>(
    {
        .sig = "erf(Tensor self) -> Tensor",
        .doc = "Error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
        .inplace = true,
    },
    [](auto x) { return erf(x); }, [](auto g, auto x, auto y) { return g * exp(-x * x) * 1.1283791670955126; });

}  // namespace dyadic::DY_ISA
