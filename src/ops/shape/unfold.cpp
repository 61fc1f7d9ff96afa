#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::unfold_op {
namespace {

void view(Call& c) {
  const TensorImpl& i = c.impl(arg::self);
  const int64_t size = c[arg::size], step = c[arg::step], d = wrap_dim("unfold", c[arg::dimension], i.ndim),
                n = i.ndim ? i.sizes[d] : 1;
  DY_CHECK(step > 0, "unfold: the step is not positive: step is {}", step);
  DY_CHECK(size >= 0 && size <= n, "unfold: the window is larger than the dimension: size is {}, dimension {} of {} is {}",
           size, d, describe(c[arg::self]), n);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  std::copy(i.sizes, i.sizes + i.ndim, sizes);
  std::copy(i.strides, i.strides + i.ndim, strides);
  sizes[i.ndim] = size;
  strides[i.ndim] = i.ndim ? i.strides[d] : 1;
  if (i.ndim) sizes[d] = (n - size) / step + 1, strides[d] *= step;
  c.out[0] = make_view(c[arg::self], {sizes, i.ndim + 1u}, {strides, i.ndim + 1u}, i.offset);
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  if (m.ndim == 0) return g.set(arg::self, g.g().reshape({}));
  const int64_t d = wrap_dim("unfold", g[arg::dimension], m.ndim), size = g[arg::size];
  const Tensor starts = mul(arange(0, g.g().size(d), 1, i64, m.device), g[arg::step]);
  const Tensor at = reshape(add(unsqueeze(starts, 1), arange(0, size, 1, i64, m.device)), {-1});
  const Tensor windows = flatten(movedim(g.g(), {-1}, {d + 1}), d, d + 1);
  g.set(arg::self, index_add(zeros(m.shape(), g.g().dtype(), m.device), d, at, windows));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "unfold(Tensor self, int dimension, int size, int step) -> Tensor",
    .doc =
        "A view of all windows of `size` entries of a dimension, every step entries one; the entries of a window are the last "
        "dimension.",
    .kind = OpKind::view,
    .samples =
        "unfold(randn(5, 2), 0, 3, 1)\n"
        "unfold(randn(2, 7), -1, 2, 3)\n"
        "unfold(randn(), 0, 1, 1)\n"
        "unfold(randn(4), 0, 4, 2)",
    .bad =
        "unfold(zeros(3), 0, 4, 1) => unfold: the window is larger than the dimension: size is 4, dimension 0 of f32[3] is 3",
    .skip = "threads: the result has the product of the sizes",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::unfold_op
