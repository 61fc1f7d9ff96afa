#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logaddexp2_op = pointwise<2, Types::float_out>(
    {
        .sig = "logaddexp2(Tensor self, Tensor other) -> Tensor",
        .doc = "log2(2^self + 2^other), without overflow.",
    },
    [](auto a, auto b) {
      auto m = max(a, b);
      return select((a == b) & isinf(a), a, m + log1p(exp2(-abs(a - b))) * 1.4426950408889634);
    },
    [](auto g, auto a, auto b, auto y) { return g * sigmoid((a - b) * 0.6931471805599453); },
    [](auto g, auto a, auto b, auto y) { return g * sigmoid((b - a) * 0.6931471805599453); });

}  // namespace dyadic::DY_ISA
