#include "ops/common.h"

namespace dyadic::inline v1::ops::broadcast_to_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return expand(t, ints_of(a.arg(arg::size)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "broadcast_to(Tensor self, int[] size) -> Tensor",
    .doc = "expand under numpy's name: dimensions of size 1 repeated without copying.",
    .kind = OpKind::composite,
    .samples = "broadcast_to(randn(3, 1), [2, 3, 4])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::broadcast_to_op
