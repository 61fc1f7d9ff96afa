#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::nonzero_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  check_has_values("nonzero", t);
  NoGrad guard;
  const Tensor mask = contiguous(t.dtype() == boolean ? t : ne(t, 0));
  return call(Op::nonzero_static_, mask, count_true(mask), int64_t(-1));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nonzero(Tensor self) -> Tensor",
    .doc =
        "The indices of the elements that are not zero, a row of int64 for each, in row-major order. Its size depends on "
        "values.",
    .kind = OpKind::composite,
    .samples =
        "nonzero(steps(3, 4))\n"
        "nonzero(mask(3, 4, 5))\n"
        "nonzero(steps())\n"
        "nonzero(steps(0, 2))",
    .skip =
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: indices are not arithmetic",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nonzero_op
