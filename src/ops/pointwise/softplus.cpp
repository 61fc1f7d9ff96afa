#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp softplus_op = pointwise<1, Types::float_out, 2>(
    {
        .sig = "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
        .doc = "log(1 + exp(beta x)) / beta; x itself where beta x is above threshold.",
        .amp = Amp::f32,
        .samples = "softplus(rand(3, 5), 2.5, 3.0)",
    },
    [](auto x, auto beta, auto threshold) {
      auto z = x * beta;
      return select(z > threshold, x, (max(z, 0.0) + log1p(exp(-abs(z)))) / beta);
    },
    [](auto g, auto x, auto y, auto beta, auto threshold) { return select(x * beta > threshold, g, g * sigmoid(x * beta)); });

}  // namespace dyadic::DY_ISA
