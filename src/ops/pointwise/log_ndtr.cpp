#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp log_ndtr_op = pointwise<1, Types::float_out>(
    {
        .sig = "log_ndtr(Tensor self) -> Tensor",
        .doc = "log(ndtr(x)), accurate in both tails.",
    },
    [](auto x) {
      auto tail = log(erfcx(x * -0.7071067811865476) * 0.5) - x * x * 0.5;
      return select(x < -1.0, tail, log1p(erfc(x * 0.7071067811865476) * -0.5));
    },
    [](auto g, auto x, auto y) { return g * 0.7978845608028654 / erfcx(x * -0.7071067811865476); });

}  // namespace dyadic::DY_ISA
