#include "ops/common.h"

namespace dyadic::inline v1::ops::inner_op {
namespace {

Tensor rows_of(const Tensor& t) {  // [..., m] as [rows, m], of which either may be 0
  int64_t rows = 1;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) rows *= t.size(d);
  return t.reshape({rows, t.size(-1)});
}
Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::other];
  if (x.dim() == 0 || y.dim() == 0) return mul(x, y);
  DY_CHECK(x.size(-1) == y.size(-1), "inner: the last sizes differ: self is {}, other is {}", describe(x), describe(y));
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end() - 1);
  sizes.insert(sizes.end(), y.sizes().begin(), y.sizes().end() - 1);
  return matmul(rows_of(x), rows_of(y).t()).reshape(sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "inner(Tensor self, Tensor other) -> Tensor",
    .doc = "Sums of products over the last dimensions of both: [..., m] and [...', m] give [..., ...'].",
    .kind = OpKind::composite,
    .samples =
        "inner(randn(2, 3), randn(4, 3))\n"
        "inner(randn(3), randn(3))\n"
        "inner(zeros(0), zeros(0))\n"
        "inner(randn(), randn(3))",
    .bad = "inner(zeros(2, 3), zeros(2)) => inner: the last sizes differ: self is f32[2, 3], other is f32[2]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::inner_op
