#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp lgamma_op = pointwise<1, Types::float_out>(
    {
        .sig = "lgamma(Tensor self) -> Tensor",
        .doc = "log |Gamma(x)|.",
        .aliases = "gammaln",
        .inplace = true,
        .low = 0.3,
        .high = 9,
    },
    [](auto x) { return lgamma(x); }, [](auto g, auto x, auto y) { return g * digamma(x); });

}  // namespace dyadic::DY_ISA
