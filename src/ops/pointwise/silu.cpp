#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp silu_op = pointwise<1, Types::float_out>(
    {
        .sig = "silu(Tensor self) -> Tensor",
        .doc = "x * sigmoid(x).",
        .inplace = true,
        .complex = complex_silu,
    },
    [](auto x) { return x * sigmoid(x); },
    [](auto g, auto x, auto y) {
      auto s = sigmoid(x);
      return g * s * (1.0 + x * (1.0 - s));
    });

}  // namespace dyadic::DY_ISA
