#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isreal_op = pointwise<1, Types::compare>(
    {
        .sig = "isreal(Tensor self) -> Tensor",
        .doc = "True where the imaginary part is zero: everywhere for real dtypes.",
        .complex = complex_isreal,
    },
    [](auto x) { return (x == x) | isnan(x); });

}  // namespace dyadic::DY_ISA
