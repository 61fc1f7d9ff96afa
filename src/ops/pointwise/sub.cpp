#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp sub_op = holomorphic<2, Types::same>(
    {
        .sig = "sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        .doc = "a - b, or a - alpha b; not of bool.",
        .aliases = "subtract",
        .inplace = true,
        .bad = "sub(zeros(2, 3), zeros(2, 4)) => sub: shapes do not broadcast: f32[2, 3] and f32[2, 4] differ in dimension -1 "
               "(3 against 4); make the sizes equal or 1\n"
               "sub(mask(2), zeros(2)) => sub: bool has no minus: an operand is bool[2]; use ~ or logical_not, ^ or "
               "logical_xor, or "
               "convert with .to first",
        .variant = ops::sub_variant,
    },
    [](auto a, auto b) { return a - b; }, [](auto g, auto a, auto b, auto y) { return g; },
    [](auto g, auto a, auto b, auto y) { return -g; });

}  // namespace dyadic::DY_ISA
