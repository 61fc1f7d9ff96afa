#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp nan_to_num_op = pointwise<1, Types::same, 3>(
    {
        .sig = "nan_to_num(Tensor self, Scalar nan=0.0, Scalar? posinf=None, Scalar? neginf=None) -> Tensor",
        .doc = "NaN and infinities replaced: posinf and neginf are the largest and smallest numbers of the dtype unless given.",
        .inplace = true,
        .samples = "nan_to_num(rand(3, 5), 2.0, 3.0, -3.0)\nnan_to_num(rand(2, 2), 1.5, None, -2.0)",
        .skip = "rounding: what infinities become is a matter of the dtype",
        .complex = complex_nan_to_num,
        .variant = ops::nan_to_num_variant,
    },
    [](auto x, auto nan, auto high, auto low) { return select(isnan(x), nan, select(isinf(x), select(x > 0, high, low), x)); },
    [](auto g, auto x, auto y, auto nan, auto high, auto low) { return select(isfinite(x), g, 0.0); });

}  // namespace dyadic::DY_ISA
