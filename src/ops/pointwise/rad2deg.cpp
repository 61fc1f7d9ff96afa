#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp rad2deg_op = pointwise<1, Types::float_out>(
    {
        .sig = "rad2deg(Tensor self) -> Tensor",
        .doc = "Radians as degrees.",
        .inplace = true,
    },
    [](auto x) { return x * 57.29577951308232; }, [](auto g, auto x, auto y) { return g * 57.29577951308232; });

}  // namespace dyadic::DY_ISA
