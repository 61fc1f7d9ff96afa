#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp where_op = holomorphic<3, Types::same>(
    {
        .sig = "where(Tensor condition, Tensor self, Tensor other) -> Tensor",
        .doc = "self where condition is nonzero, else other.",
        .samples = "where(mask(3, 5), rand(3, 5), rand(3, 5))\nwhere(mask(5), rand(3, 1), rand())",
    },
    [](auto c, auto a, auto b) { return select(c != 0, a, b); }, no_grad,
    [](auto g, auto c, auto a, auto b, auto y) { return select(c != 0.0, g, 0.0); },
    [](auto g, auto c, auto a, auto b, auto y) { return select(c != 0.0, 0.0, g); });

}  // namespace dyadic::DY_ISA
