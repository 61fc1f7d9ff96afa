#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp add_scaled_op = holomorphic<2, Types::same, 1>(
    {
        .sig = "add_scaled(Tensor self, Tensor other, Scalar alpha) -> Tensor",
        .doc = "self + alpha other: add(self, other, alpha=...).",
        .inplace = true,
    },
    [](auto a, auto b, auto alpha) { return a + alpha * b; }, [](auto g, auto a, auto b, auto y, auto alpha) { return g; },
    [](auto g, auto a, auto b, auto y, auto alpha) { return g * alpha; });

}  // namespace dyadic::DY_ISA
