#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor &x = *a[0].tensor, &y = *a[1].tensor;
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
  return mul(p, q).reshape(sizes);
}

}  // namespace

extern constexpr OpDef kron_op = {
    .sig = "kron(Tensor self, Tensor other) -> Tensor",
    .doc = "The Kronecker product: blocks of other, scaled by the elements of self.",
    .kind = OpKind::composite,
    .samples =
        "kron(randn(2, 3), randn(3, 2))\n"
        "kron(randn(3), randn(2, 2))\n"
        "kron(randn(2), randn())",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
