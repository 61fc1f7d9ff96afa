#include "ops/nn/softmax.h"

namespace dyadic::inline v1::ops::log_softmax_op {
namespace {

Tensor compose(Args a) {
  const Tensor t = a.arg(arg::dtype).kind == Arg::Kind::dtype ? to(a[arg::self], a[arg::dtype]) : a[arg::self];
  return softmax_of("log_softmax", t, a[arg::dim], true);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "log_softmax(Tensor self, int dim=-1, *, ScalarType? dtype=None) -> Tensor",
    .doc = "The logarithm of softmax along dim, without overflow, of x in dtype.",
    .kind = OpKind::composite,
    .samples = "log_softmax(randn(3, 4), 0)\nlog_softmax(randn(2, 3, 4), -1)\nlog_softmax(randn(2, 3), 1, f64)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::log_softmax_op
