#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef add_op = holomorphic<2, Types::same>(
    {
        .sig = "add(Tensor self, Tensor other) -> Tensor",
        .doc = "a + b.",
        .inplace = true,
        .bad = "add(zeros(2, 3), zeros(2, 4)) => add: shapes do not broadcast: f32[2, 3] and f32[2, 4] differ in dimension -1 "
               "(3 against 4); make the sizes equal or 1",
    },
    [](auto a, auto b) { return a + b; }, [](auto g, auto a, auto b, auto y) { return g; },
    [](auto g, auto a, auto b, auto y) { return g; });

}  // namespace dyadic::DY_ISA
