#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp log10_op = pointwise<1, Types::float_out>(
    {
        .sig = "log10(Tensor self) -> Tensor",
        .doc = "Logarithm to base 10.",
        .amp = Amp::f32,
        .inplace = true,
        .low = 0.3,
        .complex = complex_log10,
    },
    [](auto x) { return log10(x); }, [](auto g, auto x, auto y) { return g / (x * 2.302585092994046); });

}  // namespace dyadic::DY_ISA
