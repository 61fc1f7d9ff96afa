#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp fmax_op = pointwise<2, Types::same>(
    {
        .sig = "fmax(Tensor self, Tensor other) -> Tensor",
        .doc = "The larger of self and other; a number beside NaN wins. Equal values share the gradient.",
    },
    [](auto a, auto b) { return select(isnan(a), b, select(isnan(b), a, max(a, b))); },
    [](auto g, auto a, auto b, auto y) { return select((a > b) | isnan(b), g, select(a == b, g * 0.5, 0.0)); },
    [](auto g, auto a, auto b, auto y) { return select((a > b) | isnan(b), 0.0, select(a == b, g * 0.5, g)); });

}  // namespace dyadic::DY_ISA
