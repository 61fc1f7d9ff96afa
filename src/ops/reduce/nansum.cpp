#include "ops/common.h"

namespace dyadic::inline v1::ops::nansum_op {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  const Tensor x = a[3].kind == Arg::Kind::none ? t : to(t, a[3].dtype);
  const bool real = x.dtype().is_floating_point() || x.dtype().is_scaled();
  return real ? call(Op::nan_sum_, x, ints_of(a[1]), a[2].boolean) : sum(x, ints_of(a[1]), a[2].boolean);
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
