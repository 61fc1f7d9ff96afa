#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp elu_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "elu(Tensor self, Scalar alpha=1.0) -> Tensor",
        .doc = "x, or alpha (exp(x) - 1) below 0. (Clevert et al. 2015.)",
        .inplace = true,
        .samples = "elu(rand(3, 5), 0.3)",
    },
    [](auto x, auto alpha) { return select(x > 0, x, alpha * expm1(x)); },
    [](auto g, auto x, auto y, auto alpha) { return g * select(x > 0.0, 1.0, alpha * exp(x)); });

}  // namespace dyadic::DY_ISA
