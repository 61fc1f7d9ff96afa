#include "ops/common.h"

namespace dyadic::inline v1::ops::float_power_op {
namespace {

Tensor compose(Args a) {
  const bool complex = plain(a[arg::self]).is_complex() || plain(a[arg::exponent]).is_complex();
  const DType wide = complex ? c128 : f64;
  return pow(to(a[arg::self], wide), to(a[arg::exponent], wide));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "float_power(Tensor self, Tensor exponent) -> Tensor",
    .doc = "self to the power exponent, in f64 or c128.",
    .kind = OpKind::composite,
    .low = 0.3,
    .samples = "float_power(rand(3, 5), rand(5))",
    .skip = "result_dtype: always f64",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::float_power_op
