#include "ops/common.h"

namespace dyadic::inline v1::ops::imag_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK_AS(TypeError, t.dtype().is_complex(), "imag: needs a complex tensor: self is {}", describe(t));
  return select(view_as_real(t), -1, 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "imag(Tensor self) -> Tensor",
    .doc = "The imaginary parts of a complex tensor: a view.",
    .kind = OpKind::composite,
    .samples = "imag(randn(2, 3; complex))\nimag(randn(; complex))\nimag(randn(0, 2; complex))",
    .bad = "imag(zeros(2)) => imag: needs a complex tensor: self is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::imag_op
