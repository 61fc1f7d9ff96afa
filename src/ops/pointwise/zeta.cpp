#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp zeta_op = pointwise<2, Types::float_out>(
    {
        .sig = "zeta(Tensor self, Tensor other) -> Tensor",
        .doc = "Hurwitz' zeta function: the sum of (other + k)^-self over k >= 0. Has no gradient for self.",
        .low = 1.2,
        .high = 6,
        .skip = "torch_special: beside infinity PyTorch gives NaN where there is a limit\ngradcheck: none for self, as in "
                "PyTorch\ndouble_backward: none for self, as in PyTorch",
    },
    [](auto a, auto b) { return zeta(a, b); }, no_grad,
    [](auto g, auto a, auto b, auto y) { return -g * a * zeta(a + 1.0, b); });

}  // namespace dyadic::DY_ISA
