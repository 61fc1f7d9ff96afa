#include "ops/complex_math.h"
#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp tanhshrink_op = pointwise<1, Types::float_out>(
    {
        .sig = "tanhshrink(Tensor self) -> Tensor",
        .doc = "x - tanh(x).",
        .complex = complex_tanhshrink,
    },
    [](auto x) { return x - tanh(x); },
    [](auto g, auto x, auto y) {
      auto t = tanh(x);
      return g * t * t;
    });

}  // namespace dyadic::DY_ISA
