#include "ops/common.h"

namespace dyadic::inline v1::ops::view_op {
namespace {

void view(Call& c) {
  const Tensor& t = c[arg::self];
  int64_t sizes[kMaxDims], strides[kMaxDims];
  IntList size = resolve_size("view", c[arg::size], t.numel(), sizes);
  if (!view_strides(*t.impl(), size, strides))
    fail("view: the strides do not allow it: self is {} with strides {}, the size {}; use reshape, which copies when it must",
         describe(t), shape_text(t.strides()), shape_text(size));
  c.out[0] = make_view(t, size, {strides, size.size()}, t.impl()->offset);
}

void backward(Grad& g) { g.set(arg::self, g.g().reshape(g.in_meta(arg::self).shape())); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "view(Tensor self, int[] size) -> Tensor",
    .doc = "The same elements under another shape, sharing storage; one size may be -1.",
    .kind = OpKind::view,
    .samples = "view(randn(2, 6), [3, 4])\nview(randn(2, 3, 64), [-1, 64])",
    .bad =
        "view(zeros(2, 3), [4]) => view: the sizes do not fit: 6 elements do not make [4]\n"
        "view(zeros(2, 3), [-1, -1]) => view: only one size can be -1: the size is [-1, -1]",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::view_op
