#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp deg2rad_op = pointwise<1, Types::float_out>(
    {
        .sig = "deg2rad(Tensor self) -> Tensor",
        .doc = "Degrees as radians.",
        .inplace = true,
    },
    [](auto x) { return x * 0.017453292519943295; }, [](auto g, auto x, auto y) { return g * 0.017453292519943295; });

}  // namespace dyadic::DY_ISA
