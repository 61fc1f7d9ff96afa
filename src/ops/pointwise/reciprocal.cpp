#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp reciprocal_op = holomorphic<1, Types::float_out>(
    {
        .sig = "reciprocal(Tensor self) -> Tensor",
        .doc = "1 / x.",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.3,
    },
    [](auto x) { return 1.0 / x; }, [](auto g, auto x, auto y) { return -g * y * y; });

}  // namespace dyadic::DY_ISA
