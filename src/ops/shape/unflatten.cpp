#include "ops/common.h"

namespace dyadic::inline v1::ops::unflatten_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = wrap_dim("unflatten", a[arg::dim], t.dim());
  DY_CHECK_AS(IndexError, t.dim() > 0, "unflatten: a 0-d tensor has no dimension");
  int64_t part[kMaxDims];
  const IntList inner = resolve_size("unflatten", ints_of(a.arg(arg::sizes)), t.size(dim), part);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, inner.begin(), inner.end());
  return reshape(t, sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "unflatten(Tensor self, int dim, int[] sizes) -> Tensor",
    .doc = "Dimension dim made several, of the given sizes (one may be -1).",
    .kind = OpKind::composite,
    .samples =
        "unflatten(randn(2, 6), 1, [2, -1])\n"
        "unflatten(randn(4, 3), 0, [2, 1, 2])",
    .bad = "unflatten(zeros(2, 6), 1, [4, -1]) => unflatten: the sizes do not fit: 6 elements do not make [4, -1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::unflatten_op
