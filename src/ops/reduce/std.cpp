#include "ops/common.h"

namespace dyadic::inline v1::ops::std_op {
namespace {

Tensor compose(const Arg* a) {
  return sqrt(var(*a[0].tensor, IntList(a[1].ints, a[1].kind == Arg::Kind::ints ? a[1].n : 0), a[2].integer, a[3].boolean));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "std(Tensor self, int[]? dim=None, int correction=1, bool keepdim=False) -> Tensor",
    .doc = "Standard deviation over dim: the square root of var.",
    .kind = OpKind::composite,
    .samples = "std(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::std_op
