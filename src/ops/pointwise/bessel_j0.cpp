#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp bessel_j0_op = pointwise<1, Types::float_out>(
    {
        .sig = "bessel_j0(Tensor self) -> Tensor",
        .doc = "Bessel function of the first kind, order 0.",
        .low = 0.2,
        .high = 20,
        .skip = "torch_digits: PyTorch has seven\ntorch_special: of infinity PyTorch gives NaN",
    },
    [](auto x) { return bessel_j0(x); }, [](auto g, auto x, auto y) { return -g * bessel_j1(x); });

}  // namespace dyadic::DY_ISA
