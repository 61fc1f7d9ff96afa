#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef div_op = holomorphic<2, Types::float_out>(
    {
        .sig = "div(Tensor self, Tensor other) -> Tensor",
        .doc = "a / b; integers become floats.",
        .inplace = true,
        .low = 0.3,
    },
    [](auto a, auto b) { return a / b; }, [](auto g, auto a, auto b, auto y) { return g / b; },
    [](auto g, auto a, auto b, auto y) { return -g * y / b; });

}  // namespace dyadic::DY_ISA
