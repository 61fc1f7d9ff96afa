#include "ops/common.h"

namespace dyadic::inline v1::ops::randn_like_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return randn(t.sizes(), dtype_like(t, a.arg(arg::dtype)), device_like(t, a.arg(arg::device)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "randn_like(Tensor self, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Standard normal numbers in the shape, dtype and device of self.",
    .kind = OpKind::composite,
    .samples = "randn_like(randn(2, 3))\nrandn_like(indices(3; 2), f16)",
    .bad = "randn_like(indices(3; 2)) => randn: only floating-point and complex dtypes: dtype is i64",
    .skip = "cost: drawing numbers counts as bytes\ngradcheck: self lends its sizes only",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::randn_like_op
