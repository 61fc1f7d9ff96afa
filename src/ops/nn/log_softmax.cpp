#include "ops/common.h"

namespace dyadic::inline v1::ops::log_softmax_op {
namespace {

Tensor compose(const Arg* a) {
  const Tensor t = a[2].kind == Arg::Kind::dtype ? to(*a[0].tensor, a[2].dtype) : *a[0].tensor;
  int64_t dim = wrap_dim("log_softmax", a[1].integer, t.dim()), last = t.dim() - 1;
  if (t.dim() == 0) return call(Op::softmax_rows_, t.view({1}), true).view({});
  if (dim == last) return call(Op::softmax_rows_, dense(t), true);
  return call(Op::softmax_rows_, dense(t.transpose(dim, last)), true).transpose(dim, last);
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
