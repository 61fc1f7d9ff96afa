#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp addcmul_op = holomorphic<3, Types::same, 1>(
    {
        .sig = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        .doc = "self + value tensor1 tensor2.",
        .inplace = true,
        .samples = "addcmul(rand(3, 5), rand(5), rand(3, 1), 0.5)",
        .skip = "torch_integers: a real number makes the result real, where PyTorch drops its fraction",
    },
    [](auto a, auto b, auto c, auto value) { return a + value * b * c; },
    [](auto g, auto a, auto b, auto c, auto y, auto value) { return g; },
    [](auto g, auto a, auto b, auto c, auto y, auto value) { return g * value * c; },
    [](auto g, auto a, auto b, auto c, auto y, auto value) { return g * value * b; });

}  // namespace dyadic::DY_ISA
