#include "ops/common.h"

namespace dyadic::inline v1::ops::prod_as_op {
namespace {

Tensor compose(Args a) {
  return to(prod(to(a[arg::self], a[arg::dtype]), ints_of(a.arg(arg::dim)), a[arg::keepdim]), a[arg::dtype]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "prod_as(Tensor self, int[]? dim, bool keepdim, ScalarType dtype) -> Tensor",
    .doc = "The product over dim of self in dtype: prod with a dtype.",
    .kind = OpKind::composite,
    .internal = true,
    .low = 0.5,
    .samples = "prod_as(randn(3, 4), [1], False, f64)\nprod_as(randn(2, 3), None, True, f64)",
    .skip = "result_dtype: it is given",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::prod_as_op
