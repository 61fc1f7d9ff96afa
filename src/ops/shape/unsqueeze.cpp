#include "ops/common.h"

namespace dyadic::inline v1::ops::unsqueeze_op {
namespace {

void view(Call& c) {
  const TensorImpl& i = c.impl(arg::self);
  DY_CHECK(i.ndim < kMaxDims, "unsqueeze: too many dimensions: self has {}; at most {}", i.ndim, kMaxDims);
  int64_t at = wrap_dim("unsqueeze", c[arg::dim], i.ndim + 1);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  for (int d = 0, from = 0; d <= i.ndim; ++d) {
    if (d == at) {
      sizes[d] = 1;
      strides[d] = d < i.ndim ? i.sizes[d] * i.strides[d] : 1;
    } else {
      sizes[d] = i.sizes[from];
      strides[d] = i.strides[from++];
    }
  }
  size_t n = size_t(i.ndim) + 1;
  c.out[0] = make_view(c[arg::self], {sizes, n}, {strides, n}, i.offset);
}
void backward(Grad& g) { g.set(arg::self, squeeze(g.g(), g[arg::dim])); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "unsqueeze(Tensor self, int dim) -> Tensor",
    .doc = "A view with a new dimension of size 1 before `dim`.",
    .kind = OpKind::view,
    .samples = "unsqueeze(randn(2, 3), 1)\nunsqueeze(randn(64), -1)\nunsqueeze(randn(), 0)",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::unsqueeze_op
