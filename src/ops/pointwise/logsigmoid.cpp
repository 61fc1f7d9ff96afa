#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logsigmoid_op = pointwise<1, Types::float_out>(
    {
        .sig = "logsigmoid(Tensor self) -> Tensor",
        .doc = "log(sigmoid(x)), without underflow.",
        .aliases = "log_sigmoid",
    },
    [](auto x) { return min(x, 0.0) - log1p(exp(-abs(x))); }, [](auto g, auto x, auto y) { return g * sigmoid(-x); });

}  // namespace dyadic::DY_ISA
