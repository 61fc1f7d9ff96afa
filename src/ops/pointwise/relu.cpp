#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp relu_op = pointwise<1, Types::same>(
    {
        .sig = "relu(Tensor self) -> Tensor",
        .doc = "max(x, 0); its gradient at 0 is 0.",
        .inplace = true,
    },
    [](auto x) { return max(x, 0); }, [](auto g, auto x, auto y) { return select(y > 0.0, g, 0.0); });

}  // namespace dyadic::DY_ISA
