#include "ops/common.h"

namespace dyadic::inline v1::ops::flatten_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  int64_t n = t.dim(), from = wrap_dim("flatten", a[arg::start_dim], n), to = wrap_dim("flatten", a[arg::end_dim], n);
  DY_CHECK(from <= to, "flatten: start_dim comes after end_dim: {} and {} of {}", a[arg::start_dim], a[arg::end_dim],
           describe(t));
  int64_t sizes[kMaxDims];
  size_t count = 0;
  for (int64_t d = 0; d < n; ++d) {
    if (d > from && d <= to)
      sizes[count - 1] *= t.size(d);
    else
      sizes[count++] = t.size(d);
  }
  if (n == 0) sizes[count++] = 1;
  return reshape(t, {sizes, count});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor",
    .doc = "Dimensions start_dim to end_dim made one.",
    .kind = OpKind::composite,
    .samples = "flatten(randn(2, 3, 4))\nflatten(randn(2, 3, 4), 1, 2)\nflatten(randn())",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::flatten_op
