#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp logit_op = pointwise<1, Types::float_out>(
    {
        .sig = "logit(Tensor self, float? eps=None) -> Tensor",
        .doc = "log(x / (1 - x)). With eps x is first held between eps and 1 - eps.",
        .inplace = true,
        .low = 0.05,
        .high = 0.95,
        .samples = "logit(rand(3, 5), 0.1)",
        .variant = ops::logit_variant,
    },
    [](auto x) { return log(x / (1.0 - x)); }, [](auto g, auto x, auto y) { return g / (x * (1.0 - x)); });

}  // namespace dyadic::DY_ISA
