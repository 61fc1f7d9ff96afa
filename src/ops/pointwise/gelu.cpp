#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef gelu_op = pointwise<1, Types::float_out>(
    {
        .sig = "gelu(Tensor self, *, str approximate='none') -> Tensor",
        .doc = "x times the standard normal distribution function: 0.5 x erfc(-x / sqrt(2)). (Hendrycks and Gimpel 2016.)",
        .variant = ops::gelu_variant,
    },
    [](auto x) { return x * 0.5 * erfc(x * -0.7071067811865476); },
    [](auto g, auto x, auto y) {
      auto cdf = erfc(x * -0.7071067811865476) * 0.5;
      return g * (cdf + x * exp(x * x * -0.5) * 0.3989422804014327);
    });

}  // namespace dyadic::DY_ISA
