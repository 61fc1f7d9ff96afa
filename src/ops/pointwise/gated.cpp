#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp gated_op = pointwise<2, Types::float_out>(
    {
        .sig = "gated(Tensor self, Tensor gate) -> Tensor",
        .doc = "self times the sigmoid of gate.",
        .internal = true,
    },
    [](auto x, auto z) { return x * sigmoid(z); }, [](auto g, auto x, auto z, auto y) { return g * sigmoid(z); },
    [](auto g, auto x, auto z, auto y) {
      auto s = sigmoid(z);
      return g * x * (s * (1.0 - s));
    });

}  // namespace dyadic::DY_ISA
