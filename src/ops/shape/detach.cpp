#include "ops/common.h"

namespace dyadic::inline v1::ops::detach_op {
namespace {
Tensor compose(Args a) {
  const TensorImpl& i = *a[arg::self].impl();
  return make_view(a[arg::self], i.shape(), {i.strides, i.ndim}, i.offset);
}
}  // namespace

extern constexpr OpDef record = {
    .sig = "detach(Tensor self) -> Tensor",
    .doc = "The same storage without history: no gradient flows through it.",
    .kind = OpKind::composite,
    .samples = "detach(randn(2, 3))",
    .skip = "gradcheck: it has none, on purpose",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::detach_op
