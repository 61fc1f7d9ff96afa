#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp hardshrink_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
        .doc = "x where |x| is above lambd, else 0.",
        .samples = "hardshrink(rand(3, 5), 1.25)",
    },
    [](auto x, auto lambd) { return select((x >= -lambd) & (x <= lambd), 0.0, x); },
    [](auto g, auto x, auto y, auto lambd) { return select((x >= -lambd) & (x <= lambd), 0.0, g); });

}  // namespace dyadic::DY_ISA
