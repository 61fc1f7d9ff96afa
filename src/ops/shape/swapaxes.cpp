#include "ops/common.h"

namespace dyadic::inline v1::ops::swapaxes_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return transpose(t, a[arg::axis0], a[arg::axis1]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "swapaxes(Tensor self, int axis0, int axis1) -> Tensor",
    .doc = "transpose under another name: a view with two dimensions exchanged.",
    .kind = OpKind::composite,
    .samples = "swapaxes(randn(2, 3, 4), 0, -1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::swapaxes_op
