#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sign_op = pointwise<1, Types::same>(
    {
        .sig = "sign(Tensor self) -> Tensor",
        .doc = "-1, 0 or 1; 0 for NaN.",
        .aliases = "sgn",
        .inplace = true,
        .skip = "double_backward: its gradient is constant",
        .complex = complex_sign,
    },
    [](auto x) { return sign(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
