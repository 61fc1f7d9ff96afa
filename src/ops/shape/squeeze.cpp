#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

void forward(Call& c) {
  const TensorImpl& i = c.impl(0);
  int64_t only = c.has(1) ? wrap_dim("squeeze", c.integer(1), i.ndim) : -1;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  size_t n = 0;
  for (int d = 0; d < i.ndim; ++d)
    if (i.sizes[d] != 1 || (only >= 0 && d != only)) sizes[n] = i.sizes[d], strides[n++] = i.strides[d];
  c.out[0] = make_view(c.tensor(0), {sizes, n}, {strides, n}, i.offset);
}
void backward(Grad& g) { g.set(0, g.g().reshape(g.in_meta(0).shape())); }

}  // namespace

extern constexpr OpDef squeeze_op = {
    .sig = "squeeze(Tensor self, int? dim=None) -> Tensor",
    .doc = "A view without the dimensions of size 1, or without `dim` if its size is 1.",
    .kind = OpKind::view,
    .samples = "squeeze(randn(2, 1, 3, 1))\nsqueeze(randn(2, 1, 3), 1)\nsqueeze(randn(2, 3), 0)",
    .infer = infer_nothing,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops
