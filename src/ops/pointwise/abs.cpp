#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp abs_op = with_complex<1>(
    pointwise<1, Types::same>(
        {
            .sig = "abs(Tensor self) -> Tensor",
            .doc = "|x|; its gradient at 0 is 0. Of complex numbers the real sqrt(re^2 + im^2).",
            .aliases = "absolute",
            .inplace = true,
        },
        [](auto x) { return abs(x); }, [](auto g, auto x, auto y) { return select(x > 0.0, g, select(x < 0.0, -g, 0.0)); }),
    [](auto z) { return abs(z); }, [](auto g, auto z, auto y) { return select(abs(z) == 0.0, 0.0, z * (g.re / abs(z))); });

}  // namespace dyadic::DY_ISA
