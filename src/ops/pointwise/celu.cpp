#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp celu_op = pointwise<1, Types::float_out, 1>(
    {
        .sig = "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
        .doc = "x, or alpha (exp(x / alpha) - 1) below 0. (Barron 2017.)",
        .inplace = true,
        .samples = "celu(rand(3, 5), 0.3)",
        .skip = "torch_digits: PyTorch takes 1 / alpha in f32",
    },
    [](auto x, auto alpha) { return select(x > 0, x, alpha * expm1(x / alpha)); },
    [](auto g, auto x, auto y, auto alpha) { return g * select(x > 0.0, 1.0, exp(x / alpha)); });

}  // namespace dyadic::DY_ISA
