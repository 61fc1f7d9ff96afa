#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp addcdiv_op = holomorphic<3, Types::float_out, 1>(
    {
        .sig = "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        .doc = "self + value tensor1 / tensor2.",
        .inplace = true,
        .low = 0.3,
        .samples = "addcdiv(rand(3, 5), rand(5), rand(3, 1), 0.5)",
    },
    [](auto a, auto b, auto c, auto value) { return a + value * b / c; },
    [](auto g, auto a, auto b, auto c, auto y, auto value) { return g; },
    [](auto g, auto a, auto b, auto c, auto y, auto value) { return g * value / c; },
    [](auto g, auto a, auto b, auto c, auto y, auto value) { return -g * value * b / (c * c); });

}  // namespace dyadic::DY_ISA
