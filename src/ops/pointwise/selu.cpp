#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp selu_op = pointwise<1, Types::float_out>(
    {
        .sig = "selu(Tensor self) -> Tensor",
        .doc = "1.0507 (x, or 1.6733 (exp(x) - 1) below 0). (Klambauer et al. 2017.)",
        .inplace = true,
    },
    [](auto x) { return select(x > 0, x, expm1(x) * 1.6732632423543772) * 1.0507009873554805; },
    [](auto g, auto x, auto y) { return g * select(x > 0.0, 1.0507009873554805, exp(x) * 1.7580993408473766); });

}  // namespace dyadic::DY_ISA
