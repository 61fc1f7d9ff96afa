#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp entr_op = pointwise<1, Types::float_out>(
    {
        .sig = "entr(Tensor self) -> Tensor",
        .doc = "-x log x; 0 at 0, -inf below.",
        .low = 0.2,
    },
    [](auto x) { return select(x < 0, -kInf, select(x == 0, 0.0, -x * log(x))); },
    [](auto g, auto x, auto y) { return g * select(x >= 0.0, -log(x) - 1.0, 0.0); });

}  // namespace dyadic::DY_ISA
