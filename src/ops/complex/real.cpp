#include "ops/common.h"

namespace dyadic::inline v1::ops::real_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return t.dtype().is_complex() ? select(view_as_real(t), -1, 0) : t;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "real(Tensor self) -> Tensor",
    .doc = "The real parts of a complex tensor: a view. A real tensor is its own.",
    .kind = OpKind::composite,
    .samples = "real(randn(2, 3; complex))\nreal(randn(2, 3))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::real_op
