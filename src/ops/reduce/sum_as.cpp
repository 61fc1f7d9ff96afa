#include "ops/common.h"

namespace dyadic::inline v1::ops::sum_as_op {
namespace {

Tensor compose(Args a) {
  return to(sum(to(a[arg::self], a[arg::dtype]), ints_of(a.arg(arg::dim)), a[arg::keepdim]), a[arg::dtype]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "sum_as(Tensor self, int[]? dim, bool keepdim, ScalarType dtype) -> Tensor",
    .doc = "The sum over dim of self in dtype: sum with a dtype.",
    .kind = OpKind::composite,
    .internal = true,
    .samples = "sum_as(randn(3, 4), [1], False, f64)\nsum_as(randn(2, 3), None, True, f64)",
    .skip = "result_dtype: it is given",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::sum_as_op
