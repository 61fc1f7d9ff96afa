#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp i0e_op = pointwise<1, Types::float_out>(
    {
        .sig = "i0e(Tensor self) -> Tensor",
        .doc = "i0(x) exp(-|x|).",
    },
    [](auto x) { return i0e(x); }, [](auto g, auto x, auto y) { return g * (i1e(x) - sign(x) * y); });

}  // namespace dyadic::DY_ISA
