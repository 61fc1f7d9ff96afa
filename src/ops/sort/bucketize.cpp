#include "ops/common.h"

namespace dyadic::inline v1::ops::bucketize_op {
namespace {

Tensor compose(Args a) {
  return call(Op::searchsorted_, a[arg::boundaries], a[arg::self], a[arg::out_int32], a[arg::right], Arg(), Arg());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "bucketize(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    .doc = "For each element the bucket between sorted boundaries it is in: searchsorted(boundaries, self).",
    .kind = OpKind::composite,
    .samples =
        "bucketize(randn(3, 4), zeros(5))\n"
        "bucketize(randn(3), zeros(2), True, True)",
    .skip =
        "gradcheck: places have none\n"
        "cost: indices are not arithmetic",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::bucketize_op
