#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp trunc_op = pointwise<1, Types::same>(
    {
        .sig = "trunc(Tensor self) -> Tensor",
        .doc = "Towards zero.",
        .aliases = "fix",
        .inplace = true,
        .skip = "double_backward: its gradient is constant",
    },
    [](auto x) { return trunc(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
