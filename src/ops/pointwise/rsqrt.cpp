#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp rsqrt_op = pointwise<1, Types::float_out>(
    {
        .sig = "rsqrt(Tensor self) -> Tensor",
        .doc = "1 / sqrt(x).",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.1,
        .complex = complex_rsqrt,
    },
    [](auto x) { return rsqrt(x); }, [](auto g, auto x, auto y) { return g * -0.5 * y * y * y; });

}  // namespace dyadic::DY_ISA
