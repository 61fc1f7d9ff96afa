#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp i1e_op = pointwise<1, Types::float_out>(
    {
        .sig = "i1e(Tensor self) -> Tensor",
        .doc = "i1(x) exp(-|x|).",
    },
    [](auto x) { return i1e(x); },
    [](auto g, auto x, auto y) { return g * (i0e(x) - select(x == 0.0, 0.5, y * (sign(x) + 1.0 / x))); });

}  // namespace dyadic::DY_ISA
