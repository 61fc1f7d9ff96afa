#include "ops/common.h"

namespace dyadic::inline v1::ops::nanmean_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  check_float("nanmean", t, "self");
  const Tensor x = !a.has(arg::dtype) ? t : to(t, a[arg::dtype]);
  const Tensor count = call(Op::count_numbers_, x.detach(), ints_of(a.arg(arg::dim)), a[arg::keepdim]);
  return div(call(Op::nan_sum_, x, ints_of(a.arg(arg::dim)), a[arg::keepdim]), to(count, plain(x)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nanmean(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc = "The mean over dim of what is not NaN.",
    .kind = OpKind::composite,
    .samples =
        "nanmean(randn(3, 4), [1])\n"
        "nanmean(randn(3, 4))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nanmean_op
