#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp ceil_op = pointwise<1, Types::same>(
    {
        .sig = "ceil(Tensor self) -> Tensor",
        .doc = "Smallest integer not below x.",
        .inplace = true,
        .skip = "double_backward: its gradient is constant",
    },
    [](auto x) { return ceil(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
