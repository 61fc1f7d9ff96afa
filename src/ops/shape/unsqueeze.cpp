#include "ops/common.h"

namespace dyadic::inline v1::ops::unsqueeze_op {
namespace {

void forward(Call& c) {
  const TensorImpl& i = c.impl(0);
  DY_CHECK(i.ndim < kMaxDims, "unsqueeze: too many dimensions: self has {}; at most {}", i.ndim, kMaxDims);
  int64_t at = wrap_dim("unsqueeze", c.integer(1), i.ndim + 1);
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
  c.out[0] = make_view(c.tensor(0), {sizes, n}, {strides, n}, i.offset);
}
void backward(Grad& g) { g.set(0, squeeze(g.g(), g.integer(1))); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "unsqueeze(Tensor self, int dim) -> Tensor",
    .doc = "A view with a new dimension of size 1 before `dim`.",
    .kind = OpKind::view,
    .samples = "unsqueeze(randn(2, 3), 1)\nunsqueeze(randn(64), -1)\nunsqueeze(randn(), 0)",
    .infer = infer_nothing,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::unsqueeze_op
