#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp round_op = pointwise<1, Types::same>(
    {
        .sig = "round(Tensor self, *, int decimals=0) -> Tensor",
        .doc = "Nearest integer, half to even; with decimals, the nearest number with so many of them.",
        .inplace = true,
        .samples = "round(rand(3, 5), 2)",
        .skip = "double_backward: its gradient is constant",
        .variant = ops::round_variant,
    },
    [](auto x) { return round(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
