#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp isclose_op = pointwise<2, Types::compare, 3>(
    {
        .sig = "isclose(Tensor self, Tensor other, Scalar rtol=1e-05, Scalar atol=1e-08, bool equal_nan=False) -> Tensor",
        .doc = "True where |self - other| is at most atol + rtol |other|.",
        .samples = "isclose(steps(3, 5), steps(3, 5), 0.1, 0.5, True)\nisclose(rand(4, 5), rand(5), 0.3, 0.5)",
        .variant = ops::isclose_variant,
    },
    [](auto a, auto b, auto rtol, auto atol, auto equal_nan) {
      return (a == b) | ((abs(a - b) <= atol + rtol * abs(b)) & isfinite(b)) | (isnan(a) & isnan(b) & (equal_nan != 0));
    });

}  // namespace dyadic::DY_ISA
