#include "ops/common.h"

namespace dyadic::inline v1::ops::mean_as_op {
namespace {

Tensor compose(Args a) { return mean(to(a[arg::self], a[arg::dtype]), ints_of(a.arg(arg::dim)), a[arg::keepdim]); }

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
