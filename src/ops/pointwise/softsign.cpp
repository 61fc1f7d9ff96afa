#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp softsign_op = pointwise<1, Types::float_out>(
    {
        .sig = "softsign(Tensor self) -> Tensor",
        .doc = "x / (1 + |x|).",
        .complex = complex_softsign,
    },
    [](auto x) { return x / (1.0 + abs(x)); },
    [](auto g, auto x, auto y) {
      auto d = 1.0 + abs(x);
      return g / (d * d);
    });

}  // namespace dyadic::DY_ISA
