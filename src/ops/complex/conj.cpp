#include "ops/common.h"

namespace dyadic::inline v1::ops::conj_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  return t.dtype().is_complex() ? conj_physical(t) : t;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "conj(Tensor self) -> Tensor",
    .doc = "The complex conjugate; a real tensor is its own.",
    .kind = OpKind::composite,
    .samples = "conj(randn(2, 3; complex))\nconj(randn(2, 3))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::conj_op
