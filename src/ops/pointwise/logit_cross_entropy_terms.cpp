#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logit_cross_entropy_terms_op = pointwise<2, Types::float_out>(
    {
        .sig = "logit_cross_entropy_terms(Tensor self, Tensor target) -> Tensor",
        .doc = "binary_cross_entropy_terms of sigmoid(x), without overflow.",
        .amp = Amp::f32,
        .internal = true,
    },
    [](auto x, auto t) { return (1.0 - t) * x + (max(-x, 0.0) + log1p(exp(-abs(x)))); },
    [](auto g, auto x, auto t, auto y) { return g * (sigmoid(x) - t); }, [](auto g, auto x, auto t, auto y) { return g * -x; });

}  // namespace dyadic::DY_ISA
