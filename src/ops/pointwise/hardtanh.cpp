#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp hardtanh_op = pointwise<1, Types::same, 2>(
    {
        .sig = "hardtanh(Tensor self, Scalar min_val=-1.0, Scalar max_val=1.0) -> Tensor",
        .doc = "x held between min_val and max_val, which lose their fractions beside integers.",
        .inplace = true,
        .samples = "hardtanh(rand(3, 5), -0.5, 2.0)",
        .variant = ops::hardtanh_variant,
    },
    [](auto x, auto low, auto high) { return min(max(x, low), high); },
    [](auto g, auto x, auto y, auto low, auto high) { return select((x > low) & (x < high), g, 0.0); });

}  // namespace dyadic::DY_ISA
