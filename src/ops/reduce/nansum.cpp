#include "ops/common.h"

namespace dyadic::inline v1::ops::nansum_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const Tensor x = !a.has(arg::dtype) ? t : to(t, a[arg::dtype]);
  const bool real = x.dtype().is_floating_point() || x.dtype().is_scaled();
  return real ? call(Op::nan_sum_, x, ints_of(a.arg(arg::dim)), a[arg::keepdim])
              : sum(x, ints_of(a.arg(arg::dim)), a[arg::keepdim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc = "The sum over dim with NaN counted as 0.",
    .kind = OpKind::composite,
    .samples =
        "nansum(randn(3, 4), [1])\n"
        "nansum(randn(3, 4))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nansum_op
