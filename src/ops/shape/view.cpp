#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

// Strides that show `t` with the new sizes without moving anything (as numpy's reshape finds them), or false.
bool view_strides(const TensorImpl& t, IntList sizes, int64_t* strides) {
  if (t.numel == 0) {
    int64_t s = 1;
    for (int d = int(sizes.size()) - 1; d >= 0; --d) strides[d] = s, s *= std::max<int64_t>(sizes[size_t(d)], 1);
    return true;
  }
  int to = int(sizes.size()) - 1;
  for (int d = t.ndim - 1; d >= 0;) {
    // The longest dense run of old dimensions that ends at d ...
    int64_t base = t.strides[d], have = t.sizes[d];
    int first = d;
    while (first > 0 && (t.sizes[first - 1] == 1 || have == 1 || t.strides[first - 1] == have * base)) {
      --first;
      if (have == 1) base = t.strides[first];
      have *= t.sizes[first];
    }
    // ... must be made up of whole new dimensions.
    int64_t want = 1;
    while (to >= 0 && want < have) {
      strides[to] = want * base;
      want *= sizes[size_t(to--)];
    }
    if (want != have) return false;
    d = first - 1;
  }
  for (; to >= 0; --to) {
    if (sizes[size_t(to)] != 1) return false;
    strides[to] = to + 1 < int(sizes.size()) ? strides[to + 1] * sizes[size_t(to + 1)] : 1;
  }
  return true;
}

void forward(Call& c) {
  const Tensor& t = c.tensor(0);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  IntList size = resolve_size("view", c.ints(1), t.numel(), sizes);
  if (!view_strides(*t.impl(), size, strides))
    fail("view: the strides do not allow it: self is {} with strides {}, the size {}; use reshape, which copies when it must",
         describe(t), shape_text(t.strides()), shape_text(size));
  c.out[0] = make_view(t, size, {strides, size.size()}, t.impl()->offset);
}

void backward(Grad& g) { g.set(0, g.g().reshape(g.in_meta(0).shape())); }

}  // namespace

bool can_view(const Tensor& t, IntList sizes) {
  int64_t strides[kMaxDims];
  return view_strides(*t.impl(), sizes, strides);
}

extern constexpr OpDef view_op = {
    .sig = "view(Tensor self, int[] size) -> Tensor",
    .doc = "The same elements under another shape, sharing storage; one size may be -1.",
    .kind = OpKind::view,
    .samples = "view(randn(2, 6), [3, 4])\nview(randn(2, 3, 64), [-1, 64])",
    .bad =
        "view(zeros(2, 3), [4]) => view: the sizes do not fit: 6 elements do not make [4]\n"
        "view(zeros(2, 3), [-1, -1]) => view: only one size can be -1: the size is [-1, -1]",
    .infer = infer_nothing,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops
