#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp xlog1py_op = pointwise<2, Types::float_out>(
    {
        .sig = "xlog1py(Tensor self, Tensor other) -> Tensor",
        .doc = "self log(1 + other); 0 where self is 0.",
        .low = 0.3,
    },
    [](auto a, auto b) { return select((a == 0) & !isnan(b), 0.0, a * log1p(b)); },
    [](auto g, auto a, auto b, auto y) { return select((a == 0.0) & (b <= -1.0), 0.0, g * log1p(b)); },
    [](auto g, auto a, auto b, auto y) { return g * a / (b + 1.0); });

}  // namespace dyadic::DY_ISA
