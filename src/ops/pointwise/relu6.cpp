#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp relu6_op = pointwise<1, Types::same>(
    {
        .sig = "relu6(Tensor self) -> Tensor",
        .doc = "x held in [0, 6].",
        .inplace = true,
        .high = 8,
    },
    [](auto x) { return min(max(x, 0), 6); }, [](auto g, auto x, auto y) { return select((x > 0.0) & (x < 6.0), g, 0.0); });

}  // namespace dyadic::DY_ISA
