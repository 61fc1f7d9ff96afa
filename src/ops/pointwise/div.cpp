#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp div_op = holomorphic<2, Types::float_out>(
    {
        .sig = "div(Tensor self, Tensor other, *, str? rounding_mode=None) -> Tensor",
        .doc = "a / b; integers become floats. Rounded (rounding_mode 'floor' or 'trunc') it keeps their type.",
        .aliases = "divide true_divide",
        .inplace = true,
        .low = 0.3,
        .bad = "div(ones(2), ones(2), 'up') => div: unknown rounding_mode: it is 'up'; it may be None, 'trunc' or 'floor'",
        .variant = ops::div_variant,
    },
    [](auto a, auto b) { return a / b; }, [](auto g, auto a, auto b, auto y) { return g / b; },
    [](auto g, auto a, auto b, auto y) { return -g * y / b; });

}  // namespace dyadic::DY_ISA
