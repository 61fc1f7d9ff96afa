#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::diag_embed_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK_AS(IndexError, t.dim() > 0, "diag_embed: a 0-d tensor has no dimension");
  const int64_t n = t.dim() + 1, offset = a[arg::offset], d1 = wrap_dim("diag_embed", a[arg::dim1], n),
                d2 = wrap_dim("diag_embed", a[arg::dim2], n);
  DY_CHECK(d1 != d2, "diag_embed: a dimension is named twice: dim1 is {}, dim2 is {}", a[arg::dim1], a[arg::dim2]);
  const int64_t side = t.size(-1) + (offset < 0 ? -offset : offset);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(d1, d2), side);
  sizes.insert(sizes.begin() + std::max(d1, d2), side);
  return diagonal_scatter(zeros(sizes, plain(t), t.device()), t, offset, d1, d2);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    .doc = "Zeros but for a diagonal of dimensions dim1 and dim2 of the result, which holds the last dimension of self.",
    .kind = OpKind::composite,
    .samples =
        "diag_embed(randn(2, 3))\n"
        "diag_embed(randn(2), 1)\n"
        "diag_embed(randn(2, 3), -1, 0, 2)",
    .bad = "diag_embed(zeros(2), 0, 1, 1) => diag_embed: a dimension is named twice: dim1 is 1, dim2 is 1",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::diag_embed_op
