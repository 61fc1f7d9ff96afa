#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp softshrink_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
        .doc = "x moved by lambd toward zero, 0 where |x| is at most lambd.",
        .samples = "softshrink(rand(3, 5), 1.25)",
    },
    [](auto x, auto lambd) { return select(x > lambd, x - lambd, select(x < -lambd, x + lambd, select(isnan(x), x, 0.0))); },
    [](auto g, auto x, auto y, auto lambd) { return select((x >= -lambd) & (x <= lambd), 0.0, g); });

}  // namespace dyadic::DY_ISA
