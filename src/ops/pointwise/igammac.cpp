#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp igammac_op = pointwise<2, Types::float_out>(
    {
        .sig = "igammac(Tensor self, Tensor other) -> Tensor",
        .doc = "The regularized upper incomplete gamma function: 1 - igamma(self, other), without its cancellation. Has no "
               "gradient for self.",
        .aliases = "gammaincc",
        .inplace = true,
        .low = 0.3,
        .high = 6,
        .skip = "torch_special: of NaN PyTorch makes a limit where the other number is 0 or infinite\ngradcheck: none for "
                "self, as in PyTorch\ndouble_backward: none for self, as in PyTorch",
    },
    [](auto a, auto b) { return igammac(a, b); }, no_grad,
    [](auto g, auto a, auto b, auto y) { return -g * exp((a - 1.0) * log(b) - b - lgamma(a)); });

}  // namespace dyadic::DY_ISA
