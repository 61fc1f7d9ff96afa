#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp atan2_op = pointwise<2, Types::float_out>(
    {
        .sig = "atan2(Tensor self, Tensor other) -> Tensor",
        .doc = "The angle of the point (other, self), in [-pi, pi].",
        .aliases = "arctan2",
        .inplace = true,
    },
    [](auto a, auto b) { return atan2(a, b); },
    [](auto g, auto a, auto b, auto y) {
      auto square = a * a + b * b;
      return g * b / select(square == 0.0, 1.0, square);
    },
    [](auto g, auto a, auto b, auto y) {
      auto square = a * a + b * b;
      return -g * a / select(square == 0.0, 1.0, square);
    });

}  // namespace dyadic::DY_ISA
