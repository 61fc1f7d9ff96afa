#include "ops/common.h"

namespace dyadic::inline v1::ops::logsumexp_op {
namespace {

Tensor compose(const Arg* a) {
  const bool whole = a[0].tensor->dtype().is_integer() || a[0].tensor->dtype() == boolean;
  const Tensor t = whole ? to(*a[0].tensor, default_dtype()) : *a[0].tensor;
  return call(Op::logsumexp_float_, t, IntList(a[1].ints, a[1].n), a[2].boolean);
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
