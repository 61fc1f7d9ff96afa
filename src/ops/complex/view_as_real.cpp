#include "ops/common.h"

namespace dyadic::inline v1::ops::view_as_real_op {
namespace {

void view(Call& c) {
  const Tensor& t = c[arg::self];
  DY_CHECK_AS(TypeError, t.dtype().is_complex(), "view_as_real: needs a complex tensor: self is {}", describe(t));
  DY_CHECK(t.dim() < kMaxDims, "view_as_real: no room for another dimension: self is {}", describe(t));
  c.out[0] = complex_parts(t);
}
void backward(Grad& g) { g.set(arg::self, view_as_complex(g.g().contiguous())); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "view_as_real(Tensor self) -> Tensor",
    .doc = "A complex tensor [...] as real numbers [..., 2], real and imaginary parts: a view.",
    .kind = OpKind::view,
    .samples = "view_as_real(randn(2, 3; complex))\nview_as_real(randn(; complex))\nview_as_real(randn(0, 2; complex))",
    .bad = "view_as_real(zeros(2)) => view_as_real: needs a complex tensor: self is f32[2]",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::view_as_real_op
