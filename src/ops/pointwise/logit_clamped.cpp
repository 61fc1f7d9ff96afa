#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logit_clamped_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "logit_clamped(Tensor self, Scalar eps) -> Tensor",
        .doc = "logit of x held between eps and 1 - eps: logit(x, eps).",
        .inplace = true,
        .internal = true,
        .low = -0.2,
        .high = 1.2,
        .samples = "logit_clamped(rand(3, 5), 0.1)\n"
                   "logit_clamped(rand(3, 5), 0.6)",
    },
    [](auto x, auto eps) {
      auto z = select(x < eps, eps, min(x, 1.0 - eps));  // in this order, where eps is above a half
      return log(z / (1.0 - z));
    },
    [](auto g, auto x, auto y, auto eps) { return select((x >= eps) & (x <= 1.0 - eps), g / (x * (1.0 - x)), 0.0); });

}  // namespace dyadic::DY_ISA
