#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const bool whole = a[0].tensor->dtype().is_integer() || a[0].tensor->dtype() == boolean;
  const Tensor t = whole ? to(*a[0].tensor, default_dtype()) : *a[0].tensor;
  check_float("logsumexp", t, "self");
  IntList dim(a[1].ints, a[1].n);
  Tensor top = (t.numel() ? amax(t, dim, true) : sum(t, dim, true)).detach();
  top = where(isfinite(top), top, scalar_tensor(0.0));
  Tensor r = add(log(sum(exp(sub(t, top)), dim, true)), top);
  if (a[2].boolean) return r;
  return view(r, sum(t.detach(), dim).sizes());
}

}  // namespace

extern constexpr OpDef logsumexp_op = {
    .sig = "logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
    .doc = "log(sum(exp(self))) over dim, without overflow; of integers in the default float.",
    .kind = OpKind::composite,
    .samples = "logsumexp(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
