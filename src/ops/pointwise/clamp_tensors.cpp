#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp clamp_tensors_op = pointwise<3, Types::same>(
    {
        .sig = "clamp_tensors(Tensor self, Tensor min, Tensor max) -> Tensor",
        .doc = "clamp of tensors: values held between min and max, max where min is above it; NaN stays.",
        .inplace = true,
        .internal = true,
        .samples = "clamp_tensors(rand(3, 5), zeros(5), ones(3, 1))",
    },
    [](auto x, auto low, auto high) { return min(max(x, low), high); },
    [](auto g, auto x, auto low, auto high, auto y) {
      return select((x < low) | (x > high) | (low > high), 0.0, select((x == low) ^ (x == high), g * 0.5, g));
    },
    [](auto g, auto x, auto low, auto high, auto y) {
      return select(low < high, select(x < low, g, select(x == low, g * 0.5, 0.0)), 0.0);
    },
    [](auto g, auto x, auto low, auto high, auto y) {
      return select((x > high) | (low > high), g, select((x == high) & (low < high), g * 0.5, 0.0));
    });

}  // namespace dyadic::DY_ISA
