#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_vander_op {
namespace {

Tensor compose(Args a) {
  const Tensor t = a[arg::x].dim() ? a[arg::x] : a[arg::x].reshape({1});
  const int64_t n = !a.has(arg::N) ? t.size(-1) : a[arg::N];
  DY_CHECK(n >= 1, "linalg.vander: no columns: N is {}", n);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.push_back(n - 1);
  const DType d = plain(t).is_integer() || plain(t) == boolean ? i64 : plain(t);
  const Tensor x = unsqueeze(to(t, d), -1), one = ones_like(x.detach());
  if (n == 1) return one;
  const Tensor columns[] = {one, cumprod(expand(x, sizes), -1)};
  return cat(columns, -1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_vander(Tensor x, *, int? N=None) -> Tensor",
    .doc = "The powers 0 to N - 1 of each entry of [..., n] as a row: [..., n, N], N = n if absent.",
    .kind = OpKind::composite,
    .samples =
        "linalg_vander(randn(3))\n"
        "linalg_vander(randn(2, 3), 4)",
    .bad = "linalg_vander(zeros(2), 0) => linalg.vander: no columns: N is 0",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_vander_op
