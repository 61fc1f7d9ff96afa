#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::normalize_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  if (!x.dtype().is_complex()) check_float("normalize", x, "input");
  return div(x, maximum(vector_norm(x, a[arg::p], {wrap_dim("normalize", a[arg::dim], x.dim())}, true), a[arg::eps]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
    .doc = "x over the larger of its p-norm along dim and eps.",
    .kind = OpKind::composite,
    .samples =
        "normalize(randn(2, 3))\n"
        "normalize(randn(2, 3, 2), 1.0, -1)\n"
        "normalize(randn(2, 3), 3.0, 0)",
    .bad =
        "normalize(indices(3; 2, 3)) => normalize: needs a floating-point tensor: input is i64[2, 3]; convert with .to(f32) "
        "first",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::normalize_op
