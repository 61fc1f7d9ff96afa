#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp ndtri_op = pointwise<1, Types::float_out>(
    {
        .sig = "ndtri(Tensor self) -> Tensor",
        .doc = "Inverse of ndtr on (0, 1).",
        .low = 0.05,
        .high = 0.95,
    },
    [](auto x) { return ndtri(x); }, [](auto g, auto x, auto y) { return g * exp(y * y * 0.5) * 2.5066282746310002; });

}  // namespace dyadic::DY_ISA
