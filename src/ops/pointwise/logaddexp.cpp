#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logaddexp_op = pointwise<2, Types::float_out>(
    {
        .sig = "logaddexp(Tensor self, Tensor other) -> Tensor",
        .doc = "log(exp(self) + exp(other)), without overflow.",
        .complex = complex_logaddexp,
    },
    [](auto a, auto b) {
      auto m = max(a, b);
      return select((a == b) & isinf(a), a, m + log1p(exp(-abs(a - b))));
    },
    [](auto g, auto a, auto b, auto y) { return g * sigmoid(a - b); },
    [](auto g, auto a, auto b, auto y) { return g * sigmoid(b - a); });

}  // namespace dyadic::DY_ISA
