#include "ops/common.h"

namespace dyadic::inline v1::ops::logsumexp_op {
namespace {

Tensor compose(Args a) {
  const bool whole = a[arg::self].dtype().is_integer() || a[arg::self].dtype() == boolean;
  const Tensor t = whole ? to(a[arg::self], default_dtype()) : a[arg::self];
  return call(Op::logsumexp_float_, t, IntList(a.arg(arg::dim).ints, a.arg(arg::dim).n), a[arg::keepdim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
    .doc = "log(sum(exp(self))) over dim, without overflow; of integers in the default float.",
    .kind = OpKind::composite,
    .samples = "logsumexp(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::logsumexp_op
