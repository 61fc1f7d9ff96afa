#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef round_op = pointwise<1, Types::same>(
    {
        .sig = "round(Tensor self) -> Tensor",
        .doc = "Nearest integer, half to even.",
        .inplace = true,
        .skip = "double_backward: its gradient is constant",
    },
    [](auto x) { return round(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
