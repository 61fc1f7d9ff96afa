#include <utility>

#include "ops/common.h"

namespace dyadic::inline v1::ops::transpose_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  int64_t n = t.dim(), d0 = wrap_dim("transpose", a[arg::dim0], n), d1 = wrap_dim("transpose", a[arg::dim1], n);
  if (n == 0) return t;
  int64_t dims[kMaxDims];
  for (int64_t d = 0; d < n; ++d) dims[d] = d;
  std::swap(dims[d0], dims[d1]);
  return permute(t, {dims, size_t(n)});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "transpose(Tensor self, int dim0, int dim1) -> Tensor",
    .doc = "A view with two dimensions exchanged.",
    .kind = OpKind::composite,
    .samples = "transpose(randn(2, 3, 4), 0, -1)\ntranspose(randn(3, 64), 0, 1)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::transpose_op
