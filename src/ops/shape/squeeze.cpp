#include "ops/common.h"

namespace dyadic::inline v1::ops::squeeze_op {
namespace {

void forward(Call& c) {
  const TensorImpl& i = c.impl(0);
  uint32_t wanted = c.has(1) ? 0 : ~0u;
  for (int64_t d : c.has(1) ? c.ints(1) : IntList()) {
    const uint32_t bit = 1u << wrap_dim("squeeze", d, i.ndim);
    DY_CHECK(!(wanted & bit), "squeeze: a dimension is named twice: dim is {}", shape_text(c.ints(1)));
    wanted |= bit;
  }
  int64_t sizes[kMaxDims], strides[kMaxDims];
  size_t n = 0;
  for (int d = 0; d < i.ndim; ++d)
    if (i.sizes[d] != 1 || !(wanted >> d & 1)) sizes[n] = i.sizes[d], strides[n++] = i.strides[d];
  c.out[0] = make_view(c.tensor(0), {sizes, n}, {strides, n}, i.offset);
}
void backward(Grad& g) { g.set(0, g.g().reshape(g.in_meta(0).shape())); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "squeeze(Tensor self, int[]? dim=None) -> Tensor",
    .doc = "A view without the dimensions of size 1, or only without those of `dim` whose size is 1.",
    .kind = OpKind::view,
    .samples =
        "squeeze(randn(2, 1, 3, 1))\nsqueeze(randn(2, 1, 3), [1])\nsqueeze(randn(2, 3), [0])\nsqueeze(randn(1, 2, 1), [-1, 0, "
        "1])\nsqueeze(randn())",
    .bad = "squeeze(zeros(1, 1), [0, -2]) => squeeze: a dimension is named twice: dim is [0, -2]",
    .infer = infer_nothing,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::squeeze_op
