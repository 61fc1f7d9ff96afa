#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp frac_op = pointwise<1, Types::same>(
    {
        .sig = "frac(Tensor self) -> Tensor",
        .doc = "x - trunc(x): the fraction, with the sign of x.",
        .inplace = true,
    },
    [](auto x) { return x - trunc(x); }, [](auto g, auto x, auto y) { return g; });

}  // namespace dyadic::DY_ISA
