#include "ops/common.h"

namespace dyadic::inline v1::ops::tril_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 2, "tril: needs a matrix: self is {}", describe(t));
  return call(Op::triangle_, t, a.arg(arg::diagonal), true);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "tril(Tensor self, int diagonal=0) -> Tensor",
    .doc =
        "The entries on and below a diagonal of the last two dimensions, zeros elsewhere; entry (i, j) is on diagonal j - i.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples = "tril(randn(3, 4), 1)",
    .bad = "tril(zeros(3)) => tril: needs a matrix: self is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::tril_op
