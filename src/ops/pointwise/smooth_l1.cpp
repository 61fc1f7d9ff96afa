#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp smooth_l1_op = pointwise<2, Types::float_out, 1>(
    {
        .sig = "smooth_l1(Tensor self, Tensor other, Scalar beta) -> Tensor",
        .doc = "With d = |self - other| and beta > 0: d^2 / (2 beta) below beta, else d - beta / 2. (Girshick 2015.)",
        .internal = true,
    },
    [](auto a, auto b, auto beta) {
      auto d = abs(a - b);
      return select(d < beta, d * d * (0.5 / beta), d - 0.5 * beta);
    },
    [](auto g, auto a, auto b, auto y, auto beta) {
      auto d = a - b;
      return g * select(abs(d) >= beta, sign(d), d / beta);
    },
    [](auto g, auto a, auto b, auto y, auto beta) {
      auto d = b - a;
      return g * select(abs(d) >= beta, sign(d), d / beta);
    });

}  // namespace dyadic::DY_ISA
