#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp floor_op = pointwise<1, Types::same>(
    {
        .sig = "floor(Tensor self) -> Tensor",
        .doc = "Largest integer not above x.",
        .inplace = true,
        .skip = "double_backward: its gradient is constant",
    },
    [](auto x) { return floor(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
