#include "ops/common.h"

namespace dyadic::inline v1::ops::mean_as_op {
namespace {

Tensor compose(const Arg* a) { return mean(to(*a[0].tensor, a[3].dtype), ints_of(a[1]), a[2].boolean); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "mean_as(Tensor self, int[]? dim, bool keepdim, ScalarType dtype) -> Tensor",
    .doc = "The mean over dim of self in dtype: mean with a dtype.",
    .kind = OpKind::composite,
    .internal = true,
    .samples = "mean_as(randn(3, 4), [1], False, f64)\nmean_as(randn(2, 3), None, True, f64)",
    .skip = "result_dtype: it is given",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::mean_as_op
