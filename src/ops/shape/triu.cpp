#include "ops/common.h"

namespace dyadic::inline v1::ops::triu_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 2, "triu: needs a matrix: self is {}", describe(t));
  return call(Op::triangle_, t, a.arg(arg::diagonal), false);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "triu(Tensor self, int diagonal=0) -> Tensor",
    .doc =
        "The entries on and above a diagonal of the last two dimensions, zeros elsewhere; entry (i, j) is on diagonal j - i.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples = "triu(randn(3, 4), 1)",
    .bad = "triu(zeros(3)) => triu: needs a matrix: self is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::triu_op
