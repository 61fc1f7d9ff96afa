#include "ops/common.h"

namespace dyadic::inline v1::ops::randint_like_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return randint(a[arg::low], a[arg::high], t.sizes(), dtype_like(t, a.arg(arg::dtype)), device_like(t, a.arg(arg::device)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "randint_like(Tensor self, int low, int high, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Integers in [low, high), all equally likely, in the shape, dtype and device of self.",
    .kind = OpKind::composite,
    .samples = "randint_like(randn(2, 3), 1, 5)\nrandint_like(randn(2), 0, 2, u8)",
    .bad = "randint_like(randn(2), 2, 2) => randint: the range is empty: low is 2, high is 2",
    .skip = "cost: drawing numbers counts as bytes\ngradcheck: self lends its sizes only\ndouble_backward: it has no first one",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::randint_like_op
