#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp lerp_op = holomorphic<2, Types::float_out, 1>(
    {
        .sig = "lerp(Tensor self, Tensor end, Scalar weight) -> Tensor",
        .doc = "self + weight * (end - self), from the nearer end: exact at weight 0 and 1.",
        .inplace = true,
    },
    [](auto a, auto b, auto w) { return select(abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1.0 - w)); },
    [](auto g, auto a, auto b, auto y, auto w) { return g * (1.0 - w); },
    [](auto g, auto a, auto b, auto y, auto w) { return g * w; });

}  // namespace dyadic::DY_ISA
