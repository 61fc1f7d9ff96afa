#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp neg_op = holomorphic<1, Types::same>(
    {
        .sig = "neg(Tensor self) -> Tensor",
        .doc = "-x; not of bool.",
        .aliases = "negative",
        .inplace = true,
        .bad =
            "neg(mask(2)) => neg: bool has no minus: an operand is bool[2]; use ~ or logical_not, ^ or logical_xor, or convert "
            "with .to first",
        .variant = ops::neg_variant,
    },
    [](auto x) { return -x; }, [](auto g, auto x, auto y) { return -g; });

}  // namespace dyadic::DY_ISA
