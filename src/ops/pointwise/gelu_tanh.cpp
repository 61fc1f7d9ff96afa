#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp gelu_tanh_op = pointwise<1, Types::float_out>(
    {
        .sig = "gelu_tanh(Tensor self) -> Tensor",
        .doc = "The tanh approximation of gelu: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).",
    },
    [](auto x) { return x * 0.5 * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); },
    [](auto g, auto x, auto y) {
      auto t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
      return g * 0.5 * ((1.0 + t) + x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 0.134145 * x * x));
    });

}  // namespace dyadic::DY_ISA
