#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp gelu_op = pointwise<1, Types::float_out>(
    {
        .sig = "gelu(Tensor self, *, str approximate='none') -> Tensor",
        .doc = "x times the standard normal distribution function: 0.5 x erfc(-x / sqrt(2)). (Hendrycks and Gimpel 2016.)",
        .variant = ops::gelu_variant,
    },
    [](auto x) { return x * ndtr(x); },
    [](auto g, auto x, auto y) {
      auto n = normal(x);
      return g * (n.below + x * n.density);
    });

}  // namespace dyadic::DY_ISA
