#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef floor_op = pointwise<1, Types::same>(
    {
        .sig = "floor(Tensor self) -> Tensor",
        .doc = "Largest integer not above x.",
        .inplace = true,
        .skip = "gradcheck: steps",
    },
    [](auto x) { return floor(x); }, [](auto g, auto x, auto y) { return select(g == g, 0.0, 0.0); });

}  // namespace dyadic::DY_ISA
