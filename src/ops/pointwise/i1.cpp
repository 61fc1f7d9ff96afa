#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp i1_op = pointwise<1, Types::float_out>(
    {
        .sig = "i1(Tensor self) -> Tensor",
        .doc = "Modified Bessel function of the first kind, order 1.",
        .skip = "torch_special: of infinity PyTorch gives NaN",
    },
    [](auto x) { return i1(x); }, [](auto g, auto x, auto y) { return g * (i0(x) - select(x == 0.0, 0.5, y / x)); });

}  // namespace dyadic::DY_ISA
