#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp mish_op = pointwise<1, Types::float_out>(
    {
        .sig = "mish(Tensor self) -> Tensor",
        .doc = "x tanh(softplus(x)). (Misra 2019.)",
        .inplace = true,
    },
    [](auto x) {
      auto s = max(x, 0.0) + log1p(exp(-abs(x)));
      return x * tanh(s);
    },
    [](auto g, auto x, auto y) {
      auto t = tanh(max(x, 0.0) + log1p(exp(-abs(x))));
      return g * (t + x * sigmoid(x) * (1.0 - t * t));
    });

}  // namespace dyadic::DY_ISA
