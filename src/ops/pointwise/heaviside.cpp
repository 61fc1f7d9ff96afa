#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp heaviside_op = pointwise<2, Types::same>(
    {
        .sig = "heaviside(Tensor self, Tensor values) -> Tensor",
        .doc = "0 below zero, 1 above, values at zero.",
        .inplace = true,
    },
    [](auto a, auto b) { return select(a == 0, b, select(a > 0, decltype(a)(1), decltype(a)(0))); });

}  // namespace dyadic::DY_ISA
