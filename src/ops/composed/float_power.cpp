#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) { return pow(to(*a[0].tensor, f64), to(*a[1].tensor, f64)); }

}  // namespace

extern constexpr OpDef float_power_op = {
    .sig = "float_power(Tensor self, Tensor exponent) -> Tensor",
    .doc = "self to the power exponent, in f64.",
    .kind = OpKind::composite,
    .low = 0.3,
    .samples = "float_power(rand(3, 5), rand(5))",
    .skip = "result_dtype: always f64",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
