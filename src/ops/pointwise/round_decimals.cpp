#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp round_decimals_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "round_decimals(Tensor self, Scalar decimals) -> Tensor",
        .doc = "Rounded to so many decimals, half to even: round(x, decimals=...).",
        .inplace = true,
        .internal = true,
        .samples = "round_decimals(rand(3, 5), 2)\nround_decimals(rand(3, 5), -1)",
        .skip = "double_backward: its gradient is constant",
    },
    [](auto x, auto decimals) {
      auto ten = pow(decltype(x)(10), abs(decimals));
      return select(decimals < 0, round(x / ten) * ten, round(x * ten) / ten);
    },
    [](auto g, auto x, auto y, auto decimals) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
