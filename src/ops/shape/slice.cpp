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

void view(Call& c) {
  const Tensor& t = c[arg::self];
  const TensorImpl& i = *t.impl();
  Range r = resolve(t.sizes(), c[arg::dim], c.has(arg::start), c[arg::start], c.has(arg::end), c[arg::end], c[arg::step]);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  std::copy(i.sizes, i.sizes + i.ndim, sizes);
  std::copy(i.strides, i.strides + i.ndim, strides);
  int64_t offset = i.offset + (r.count ? r.start * i.strides[r.dim] : 0);
  sizes[r.dim] = r.count;
  strides[r.dim] *= r.step;
  c.out[0] = make_view(t, {sizes, i.ndim}, {strides, i.ndim}, offset);
}

void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  if (g.has(arg::start) || g.has(arg::end) || g[arg::step] != 1) {
    g.set(arg::self, call(Op::slice_backward_, g.g(), m.shape(), g[arg::dim],
                          g.has(arg::start) ? std::optional(g[arg::start]) : std::nullopt,
                          g.has(arg::end) ? std::optional(g[arg::end]) : std::nullopt, g[arg::step]));
  } else {
    g.set(arg::self, g.g());
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
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::slice_op
