#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp binary_cross_entropy_terms_op = pointwise<2, Types::float_out>(
    {
        .sig = "binary_cross_entropy_terms(Tensor self, Tensor target) -> Tensor",
        .doc = "-(target log(x) + (1 - target) log(1 - x)), logarithms at least -100.",
        .internal = true,
        .low = 0.05,
        .high = 0.95,
    },
    [](auto x, auto t) { return (t - 1) * max(log1p(-x), -100.0) - t * max(log(x), -100.0); },
    [](auto g, auto x, auto t, auto y) { return g * (x - t) / max((1 - x) * x, 1e-12); },
    [](auto g, auto x, auto t, auto y) { return g * (max(log1p(-x), -100.0) - max(log(x), -100.0)); });

}  // namespace dyadic::DY_ISA
