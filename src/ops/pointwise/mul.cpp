#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp mul_op = holomorphic<2, Types::same>(
    {
        .sig = "mul(Tensor self, Tensor other) -> Tensor",
        .doc = "a * b.",
        .aliases = "multiply",
        .inplace = true,
        .bad = "mul(zeros(2, 3), zeros(2, 4)) => mul: shapes do not broadcast: f32[2, 3] and f32[2, 4] differ in dimension -1 "
               "(3 against 4); make the sizes equal or 1",
    },
    [](auto a, auto b) { return a * b; }, [](auto g, auto a, auto b, auto y) { return g * b; },
    [](auto g, auto a, auto b, auto y) { return g * a; });

}  // namespace dyadic::DY_ISA
