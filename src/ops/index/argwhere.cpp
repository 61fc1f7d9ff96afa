#include "ops/common.h"

namespace dyadic::inline v1::ops::argwhere_op {
namespace {

Tensor compose(Args a) { return nonzero(a[arg::self]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "argwhere(Tensor self) -> Tensor",
    .doc = "nonzero under numpy's name.",
    .kind = OpKind::composite,
    .samples = "argwhere(steps(3, 4))",
    .skip =
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: indices are not arithmetic",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::argwhere_op
