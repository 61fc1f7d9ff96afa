#include "ops/common.h"

namespace dyadic::inline v1::ops::where_condition_op {
namespace {

std::vector<Tensor> compose(Args a) { return call_all(Op::nonzero_as_tuple_, a[arg::condition], true); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "where.condition(Tensor condition) -> Tensor[]",
    .doc = "The indices of the elements that are true, one tensor per dimension: nonzero(condition, as_tuple=True).",
    .kind = OpKind::composite,
    .samples = "where_condition(mask(3, 4))",
    .skip =
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: indices are not arithmetic",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::where_condition_op
