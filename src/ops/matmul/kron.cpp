#include "ops/common.h"

namespace dyadic::inline v1::ops::kron_op {
namespace {

// [..., m, k] of a factor whose last sizes are m or 1 and k or 1, as rows of m k.
Tensor spread_rows(const Tensor& t, int64_t m, int64_t k) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.end()[-2] = m;
  sizes.end()[-1] = k;
  return flatten(expand(t, sizes), -2, -1);
}
Tensor compose(Args a) {
  const Tensor &x = a[arg::self], &y = a[arg::other];
  const int64_t n = std::max(x.dim(), y.dim());
  Tensor p = x, q = y;
  while (p.dim() < n) p = unsqueeze(p, 0);
  while (q.dim() < n) q = unsqueeze(q, 0);
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < n; ++d) {
    sizes.push_back(p.size(2 * d) * q.size(d));
    p = unsqueeze(p, 2 * d + 1);
  }
  for (int64_t d = 0; d < n; ++d) q = unsqueeze(q, 2 * d);
  // Rows of other that are short would be multiplied piece by piece: both factors' rows are spread to those of the result.
  if (n > 1 && q.size(-1) < 256) {
    const int64_t m = p.size(-2), k = q.size(-1);
    p = spread_rows(p, m, k);
    q = spread_rows(q, m, k);
  }
  return mul(p, q).reshape(sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "kron(Tensor self, Tensor other) -> Tensor",
    .doc = "The Kronecker product: blocks of other, scaled by the elements of self.",
    .kind = OpKind::composite,
    .samples =
        "kron(randn(2, 3), randn(3, 2))\n"
        "kron(randn(3), randn(2, 2))\n"
        "kron(randn(2), randn())",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::kron_op
