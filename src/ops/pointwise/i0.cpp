#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp i0_op = pointwise<1, Types::float_out>(
    {
        .sig = "i0(Tensor self) -> Tensor",
        .doc = "Modified Bessel function of the first kind, order 0.",
        .inplace = true,
        .skip = "torch_special: of infinity PyTorch gives NaN",
    },
    [](auto x) { return i0(x); }, [](auto g, auto x, auto y) { return g * i1(x); });

}  // namespace dyadic::DY_ISA
