#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp hardswish_op = pointwise<1, Types::float_out>(
    {
        .sig = "hardswish(Tensor self) -> Tensor",
        .doc = "x hardsigmoid(x). (Howard et al. 2019.)",
        .inplace = true,
    },
    [](auto x) { return x * min(max(x + 3.0, 0.0), 6.0) * 0.16666666666666666; },
    [](auto g, auto x, auto y) { return select(x <= -3.0, 0.0, select(x < 3.0, g * (x * 0.3333333333333333 + 0.5), g)); });

}  // namespace dyadic::DY_ISA
