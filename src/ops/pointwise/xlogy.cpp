#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp xlogy_op = pointwise<2, Types::float_out>(
    {
        .sig = "xlogy(Tensor self, Tensor other) -> Tensor",
        .doc = "self log(other); 0 where self is 0.",
        .inplace = true,
        .low = 0.3,
    },
    [](auto a, auto b) { return select((a == 0) & !isnan(b), 0.0, a * log(b)); },
    [](auto g, auto a, auto b, auto y) { return select((a == 0.0) & (b <= 0.0), 0.0, g * log(b)); },
    [](auto g, auto a, auto b, auto y) { return g * a / b; });

}  // namespace dyadic::DY_ISA
