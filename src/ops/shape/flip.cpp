#include "loops/strided_copy_kernel.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::flip_op {
namespace {

uint32_t flipped(const Call& c) {
  uint32_t mask = 0;
  for (int64_t d : c.ints(1)) {
    const uint32_t bit = 1u << wrap_dim("flip", d, c.tensor(0).dim());
    DY_CHECK(!(mask & bit), "flip: a dimension is named twice: dims is {}", shape_text(c.ints(1)));
    mask |= bit;
  }
  return mask;
}
void infer(Call& c) {
  infer_like_first(c);
  flipped(c);
}
void forward(Call& c) {
  const TensorImpl &i = c.impl(0), &o = *c.out[0].impl();
  const uint32_t mask = flipped(c);
  if (i.numel == 0) return;
  const int64_t width = i.dtype.itemsize();
  const char* from = i.data();
  int64_t strides[kMaxDims];
  for (int d = 0; d < i.ndim; ++d) {
    const bool back = mask >> d & 1;
    strides[d] = back ? -i.strides[d] : i.strides[d];
    if (back) from += (i.sizes[d] - 1) * i.strides[d] * width;
  }
  strided_copy_kernel().copy(o.data(), o.strides, from, strides, i.sizes, i.ndim, width);
}
void backward(Grad& g) { g.set(0, flip(g.g(), g.ints(1))); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "flip(Tensor self, int[] dims) -> Tensor",
    .doc = "A copy with the order of the entries of dims reversed.",
    .samples =
        "flip(randn(2, 3), [1])\n"
        "flip(randn(2, 3, 4), [0, -1])\n"
        "flip(randn(3), [])\n"
        "flip(randn(0, 2), [0])\n"
        "flip(randn(), [0])",
    .bad = "flip(zeros(2, 3), [0, 0]) => flip: a dimension is named twice: dims is [0, 0]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::flip_op
