#include "ops/common.h"

namespace dyadic::inline v1::ops::adjoint_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK(t.dim() >= 2, "adjoint: needs a matrix: self is {}", describe(t));
  return conj(transpose(t, -2, -1));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "adjoint(Tensor self) -> Tensor",
    .doc = "The last two dimensions exchanged, conjugated; of real numbers a view.",
    .kind = OpKind::composite,
    .samples = "adjoint(randn(2, 3, 4))\nadjoint(randn(2, 3; complex))",
    .bad = "adjoint(zeros(3)) => adjoint: needs a matrix: self is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::adjoint_op
