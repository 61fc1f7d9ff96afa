#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp add_op = holomorphic<2, Types::same>(
    {
        .sig = "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        .doc = "a + b, or a + alpha b.",
        .inplace = true,
        .samples = "add(randn(3, 5), randn(5), 2)\nadd(randn(3, 5), randn(3, 1), -0.5)",
        .bad = "add(zeros(2, 3), zeros(2, 4)) => add: shapes do not broadcast: f32[2, 3] and f32[2, 4] differ in dimension -1 "
               "(3 against 4); make the sizes equal or 1",
        .variant = ops::add_variant,
    },
    [](auto a, auto b) { return a + b; }, [](auto g, auto a, auto b, auto y) { return g; },
    [](auto g, auto a, auto b, auto y) { return g; });

}  // namespace dyadic::DY_ISA
