#include "ops/common.h"

namespace dyadic::inline v1::ops::view_as_complex_op {
namespace {

void view(Call& c) {
  const Tensor& t = c[arg::self];
  const TensorImpl& i = *t.impl();
  DY_CHECK_AS(TypeError, i.dtype == f32 || i.dtype == f64, "view_as_complex: needs f32 or f64: self is {}", describe(t));
  const int last = i.ndim - 1;
  DY_CHECK(last >= 0 && i.sizes[last] == 2, "view_as_complex: the last dimension is not a pair: self is {}", describe(t));
  bool pairs = i.strides[last] == 1 && i.offset % 2 == 0;
  int64_t strides[kMaxDims];
  for (int d = 0; d < last; ++d) pairs &= i.strides[d] % 2 == 0 || i.sizes[d] == 1, strides[d] = i.strides[d] / 2;
  DY_CHECK(pairs, "view_as_complex: the pairs do not lie side by side: self is {} with strides {}; use contiguous() first",
           describe(t), shape_text(t.strides()));
  c.out[0] = make_view(t, {i.sizes, size_t(last)}, {strides, size_t(last)}, i.offset / 2);
  c.out[0].impl()->dtype = i.dtype.to_complex();
}
void backward(Grad& g) { g.set(arg::self, view_as_real(g.g().contiguous())); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "view_as_complex(Tensor self) -> Tensor",
    .doc = "Real numbers [..., 2] (f32 or f64, the pairs side by side) as a complex tensor [...]: a view.",
    .kind = OpKind::view,
    .samples = "view_as_complex(randn(3, 2; wide))",
    .bad = "view_as_complex(zeros(3)) => view_as_complex: the last dimension is not a pair: self is f32[3]",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::view_as_complex_op
