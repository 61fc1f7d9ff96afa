#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp ndtr_op = pointwise<1, Types::float_out>(
    {
        .sig = "ndtr(Tensor self) -> Tensor",
        .doc = "The standard normal distribution function, 0.5 erfc(-x / sqrt(2)).",
    },
    [](auto x) { return ndtr(x); }, [](auto g, auto x, auto y) { return g * exp(x * x * -0.5) * 0.3989422804014327; });

}  // namespace dyadic::DY_ISA
