#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp hardsigmoid_op = pointwise<1, Types::float_out>(
    {
        .sig = "hardsigmoid(Tensor self) -> Tensor",
        .doc = "x / 6 + 1/2, held in [0, 1].",
        .inplace = true,
        .skip = "torch_digits: PyTorch takes 1 / 6 in f32",
    },
    [](auto x) { return min(max(x + 3.0, 0.0), 6.0) * 0.16666666666666666; },
    [](auto g, auto x, auto y) { return select((x > -3.0) & (x < 3.0), g * 0.16666666666666666, 0.0); });

}  // namespace dyadic::DY_ISA
