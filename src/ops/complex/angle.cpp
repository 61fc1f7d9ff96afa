#include "ops/composite.h"

namespace dyadic::inline v1::ops::angle_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  if (t.dtype().is_complex()) return atan2(imag(t), real(t));
  const Tensor x = t.dtype().is_floating_point() ? t.detach() : t.to(default_dtype());
  return constant_in(where(isnan(x), x, where(lt(x, 0), full_like(x, 3.14159265358979323846), zeros_like(x))), t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "angle(Tensor self) -> Tensor",
    .doc = "The angle of complex numbers, in (-pi, pi]; of real ones 0, pi below zero, NaN of NaN.",
    .kind = OpKind::composite,
    .samples = "angle(randn(2, 3; complex))\nangle(randn(3))",
    .skip = "gradcheck: of a real number it is constant",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::angle_op
