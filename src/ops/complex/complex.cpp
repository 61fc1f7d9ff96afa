#include "ops/common.h"

namespace dyadic::inline v1::ops::complex_op {
namespace {

Tensor compose(Args a) {
  const Tensor &re = a[arg::real], &im = a[arg::imag];
  for (const Tensor* part : {&re, &im})
    DY_CHECK_AS(TypeError, part->dtype() == re.dtype() && part->dtype().to_complex().to_real() == part->dtype(),
                "complex: needs two f32 or two f64 tensors: real is {}, imag {}", describe(re), describe(im));
  const Tensor like = add(re.detach(), im.detach());
  const Tensor parts[] = {re.expand(like.sizes()), im.expand(like.sizes())};
  return view_as_complex(stack(parts, -1));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "complex(Tensor real, Tensor imag) -> Tensor",
    .doc = "real + i imag, complex64 of f32 and complex128 of f64 parts.",
    .kind = OpKind::composite,
    .samples = "complex(randn(2, 3; wide), randn(3; wide))",
    .bad = "complex(zeros(2), indices(3; 2)) => complex: needs two f32 or two f64 tensors: real is f32[2], imag i64[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::complex_op
