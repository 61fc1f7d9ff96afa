#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::diagonal_op {
namespace {

void view(Call& c) {
  const TensorImpl& i = c.impl(arg::self);
  const int64_t n = i.ndim, offset = c[arg::offset], d1 = wrap_dim("diagonal", c[arg::dim1], n),
                d2 = wrap_dim("diagonal", c[arg::dim2], n);
  DY_CHECK(n >= 2 && d1 != d2, "diagonal: two different dimensions are needed: self is {}, dim1 is {}, dim2 is {}",
           describe(c[arg::self]), c[arg::dim1], c[arg::dim2]);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  size_t k = 0;
  for (int64_t d = 0; d < n; ++d)
    if (d != d1 && d != d2) sizes[k] = i.sizes[d], strides[k++] = i.strides[d];
  const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  sizes[k] = std::max<int64_t>(std::min(i.sizes[d1] - down, i.sizes[d2] - right), 0);
  strides[k] = i.strides[d1] + i.strides[d2];
  const int64_t from = sizes[k] ? down * i.strides[d1] + right * i.strides[d2] : 0;
  c.out[0] = make_view(c[arg::self], {sizes, k + 1}, {strides, k + 1}, i.offset + from);
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  g.set(arg::self,
        diagonal_scatter(zeros(m.shape(), g.g().dtype(), m.device), g.g(), g[arg::offset], g[arg::dim1], g[arg::dim2]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    .doc = "A view of a diagonal of two dimensions as the last dimension; offset > 0 lies above the main one.",
    .kind = OpKind::view,
    .samples =
        "diagonal(randn(3, 4))\n"
        "diagonal(randn(3, 4), 1)\n"
        "diagonal(randn(2, 3, 4), -1, 0, 2)\n"
        "diagonal(randn(2, 2), 5)",
    .bad =
        "diagonal(zeros(2, 2), 0, 1, 1) => diagonal: two different dimensions are needed: self is f32[2, 2], dim1 is 1, dim2 "
        "is 1",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::diagonal_op
