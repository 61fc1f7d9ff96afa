#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp exp2_op = pointwise<1, Types::float_out>(
    {
        .sig = "exp2(Tensor self) -> Tensor",
        .doc = "2 to the power x.",
        .aliases = "special_exp2",
        .amp = Amp::f32,
        .inplace = true,
        .complex = complex_exp2,
    },
    [](auto x) { return exp2(x); }, [](auto g, auto x, auto y) { return g * y * 0.6931471805599453; });

}  // namespace dyadic::DY_ISA
