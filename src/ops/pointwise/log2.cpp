#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp log2_op = pointwise<1, Types::float_out>(
    {
        .sig = "log2(Tensor self) -> Tensor",
        .doc = "Logarithm to base 2, exact for powers of two.",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.3,
        .complex = complex_log2,
    },
    [](auto x) { return log2(x); }, [](auto g, auto x, auto y) { return g / (x * 0.6931471805599453); });

}  // namespace dyadic::DY_ISA
