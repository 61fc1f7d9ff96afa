#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp digamma_op = pointwise<1, Types::float_out>(
    {
        .sig = "digamma(Tensor self) -> Tensor",
        .doc = "The derivative of lgamma; left of 0 by reflection.",
        .aliases = "psi",
        .inplace = true,
        .low = 0.3,
        .high = 9,
        .skip = "torch_digits: the gradient, trigamma, has ten digits in PyTorch",
    },
    [](auto x) { return digamma(x); }, [](auto g, auto x, auto y) { return g * zeta(2.0, x); });

}  // namespace dyadic::DY_ISA
