#include "ops/common.h"

namespace dyadic::inline v1::ops::swapdims_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return transpose(t, a[arg::dim0], a[arg::dim1]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "swapdims(Tensor self, int dim0, int dim1) -> Tensor",
    .doc = "transpose under another name: a view with two dimensions exchanged.",
    .kind = OpKind::composite,
    .samples = "swapdims(randn(2, 3, 4), 0, -1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::swapdims_op
