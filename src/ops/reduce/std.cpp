#include "ops/common.h"

namespace dyadic::inline v1::ops::std_op {
namespace {

Tensor compose(const Arg* a) { return root_of_squares(var(*a[0].tensor, ints_of(a[1]), a[2].integer, a[3].boolean)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "std(Tensor self, int[]? dim=None, int correction=1, bool keepdim=False) -> Tensor",
    .doc = "Standard deviation over dim: the square root of var.",
    .kind = OpKind::composite,
    .samples = "std(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::std_op
