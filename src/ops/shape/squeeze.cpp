#include "ops/common.h"

namespace dyadic::inline v1::ops::squeeze_op {
namespace {

void view(Call& c) {
  const TensorImpl& i = c.impl(arg::self);
  uint32_t wanted = c.has(arg::dim) ? 0 : ~0u;
  for (int64_t d : c.has(arg::dim) ? c[arg::dim] : IntList()) {
    const uint32_t bit = 1u << wrap_dim("squeeze", d, i.ndim);
    DY_CHECK(!(wanted & bit), "squeeze: a dimension is named twice: dim is {}", shape_text(c[arg::dim]));
    wanted |= bit;
  }
  int64_t sizes[kMaxDims], strides[kMaxDims];
  size_t n = 0;
  for (int d = 0; d < i.ndim; ++d)
    if (i.sizes[d] != 1 || !(wanted >> d & 1)) sizes[n] = i.sizes[d], strides[n++] = i.strides[d];
  c.out[0] = make_view(c[arg::self], {sizes, n}, {strides, n}, i.offset);
}
void backward(Grad& g) { g.set(arg::self, g.g().reshape(g.in_meta(arg::self).shape())); }

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
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::squeeze_op
