#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bessel_y1_op = pointwise<1, Types::float_out>(
    {
        .sig = "bessel_y1(Tensor self) -> Tensor",
        .doc = "Bessel function of the second kind, order 1.",
        .low = 0.2,
        .high = 20,
        .skip = "torch_digits: PyTorch has seven\ntorch_special: of infinity PyTorch gives NaN",
    },
    [](auto x) { return bessel_y1(x); }, [](auto g, auto x, auto y) { return g * (bessel_y0(x) - y / x); });

}  // namespace dyadic::DY_ISA
