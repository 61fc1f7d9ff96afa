#include "ops/nn/softmax.h"

namespace dyadic::inline v1::ops::softmax_op {
namespace {

Tensor compose(Args a) {
  const Tensor t = a.arg(arg::dtype).kind == Arg::Kind::dtype ? to(a[arg::self], a[arg::dtype]) : a[arg::self];
  return softmax_of("softmax", t, a[arg::dim], false);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax(Tensor self, int dim=-1, *, ScalarType? dtype=None) -> Tensor",
    .doc = "exp(x) over the sum of exp(x) along dim, of x in dtype.",
    .kind = OpKind::composite,
    .samples = "softmax(randn(3, 4), 0)\nsoftmax(randn(2, 3, 4), -1)\nsoftmax(randn(2, 3), 1, f64)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::softmax_op
