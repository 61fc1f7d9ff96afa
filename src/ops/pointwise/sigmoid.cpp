#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sigmoid_op = pointwise<1, Types::float_out>(
    {
        .sig = "sigmoid(Tensor self) -> Tensor",
        .doc = "1 / (1 + exp(-x)).",
        .aliases = "expit",
        .inplace = true,
        .complex = complex_sigmoid,
    },
    [](auto x) { return sigmoid(x); }, [](auto g, auto x, auto y) { return g * y * (1.0 - y); });

}  // namespace dyadic::DY_ISA
