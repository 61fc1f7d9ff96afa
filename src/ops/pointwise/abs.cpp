#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef abs_op = pointwise<1, Types::same>(
    {
        .sig = "abs(Tensor self) -> Tensor",
        .doc = "|x|; its gradient at 0 is 0.",
        .inplace = true,
    },
    [](auto x) { return abs(x); }, [](auto g, auto x, auto y) { return select(x > 0.0, g, select(x < 0.0, -g, 0.0)); });

}  // namespace dyadic::DY_ISA
