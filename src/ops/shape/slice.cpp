#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::slice_op {
namespace {

struct Range {
  int64_t dim, start, count, step;
};
Range resolve(IntList sizes, int64_t dim, bool has_start, int64_t start, bool has_end, int64_t end, int64_t step) {
  DY_CHECK_AS(IndexError, !sizes.empty(), "slice: a 0-d tensor cannot be sliced");
  DY_CHECK_AS(ValueError, step != 0, "slice: the step is zero");
  dim = wrap_dim("slice", dim, int64_t(sizes.size()));
  int64_t n = sizes[size_t(dim)];
  const int64_t low = step > 0 ? 0 : -1, high = low + n;  // downwards a range ends before the first entry
  auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, low, high); };
  const int64_t from = has_start ? bound(start) : step > 0 ? low : high, to = has_end ? bound(end) : step > 0 ? high : low;
  const int64_t way = step > 0 ? to - from : from - to, stride = step > 0 ? step : -step;
  return {dim, from, way > 0 ? (way - 1) / stride + 1 : 0, step};
}

void forward(Call& c) {
  const Tensor& t = c.tensor(0);
  const TensorImpl& i = *t.impl();
  Range r = resolve(t.sizes(), c.integer(1), c.has(2), c.integer(2), c.has(3), c.integer(3), c.integer(4));
  int64_t sizes[kMaxDims], strides[kMaxDims];
  std::copy(i.sizes, i.sizes + i.ndim, sizes);
  std::copy(i.strides, i.strides + i.ndim, strides);
  int64_t offset = i.offset + (r.count ? r.start * i.strides[r.dim] : 0);
  sizes[r.dim] = r.count;
  strides[r.dim] *= r.step;
  c.out[0] = make_view(t, {sizes, i.ndim}, {strides, i.ndim}, offset);
}

void backward(Grad& g) {
  const Meta& m = g.in_meta(0);
  if (g.has(2) || g.has(3) || g.integer(4) != 1) {
    g.set(0, call(Op::slice_backward_, g.g(), m.shape(), g.integer(1), g.has(2) ? std::optional(g.integer(2)) : std::nullopt,
                  g.has(3) ? std::optional(g.integer(3)) : std::nullopt, g.integer(4)));
  } else {
    g.set(0, g.g());
  }
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    .doc =
        "A view of every step-th entry of one dimension from start to end; bounds are clipped, negative ones count from the "
        "end. A negative step goes downwards, from the last entry if start is None, as numpy's does.",
    .kind = OpKind::view,
    .samples =
        "slice(randn(5, 4), 0, 1, 5, 2)\nslice(randn(4, 64), 0, -3, None)\nslice(randn(5), 0, 4, 2)\n"
        "slice(randn(5, 2), 0, None, None, -1)\nslice(randn(2, 7), 1, -2, 0, -3)",
    .bad = "slice(zeros(3), 0, 0, 2, 0) => slice: the step is zero",
    .infer = infer_nothing,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::slice_op
