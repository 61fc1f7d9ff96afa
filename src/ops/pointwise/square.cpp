#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp square_op = holomorphic<1, Types::counted>(
    {
        .sig = "square(Tensor self) -> Tensor",
        .doc = "x * x; of bool int64.",
        .amp = Amp::f32,
        .inplace = true,
    },
    [](auto x) { return x * x; }, [](auto g, auto x, auto y) { return g * x * 2.0; });

}  // namespace dyadic::DY_ISA
