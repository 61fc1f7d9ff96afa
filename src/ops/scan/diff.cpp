#include "ops/common.h"

namespace dyadic::inline v1::ops::diff_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t n = a[arg::n], dim = wrap_dim("diff", a[arg::dim], t.dim());
  DY_CHECK(t.dim() > 0, "diff: a 0-d tensor has no neighbours");
  DY_CHECK(n >= 0, "diff: negative n: n is {}", n);
  if (n == 0) return t.clone();  // PyTorch joins nothing to it either
  std::vector<Tensor> parts;
  if (a.has(arg::prepend)) parts.push_back(a[arg::prepend]);
  parts.push_back(t);
  if (a.has(arg::append)) parts.push_back(a[arg::append]);
  Tensor r = parts.size() > 1 ? cat(parts, dim) : t;
  for (int64_t i = 0; i < n && r.size(dim) > 0; ++i) {
    const int64_t rest = r.size(dim) - 1;
    const Tensor ahead = narrow(r, dim, 1, rest), behind = narrow(r, dim, 0, rest);
    r = r.dtype() == boolean ? ne(ahead, behind) : sub(ahead, behind);
  }
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    .doc =
        "The differences between neighbours along dim, n times over; of bool: whether they differ. prepend and append are "
        "joined first.",
    .kind = OpKind::composite,
    .samples =
        "diff(randn(3, 4))\n"
        "diff(randn(3, 4), 2, 0)\n"
        "diff(randn(3), 1, 0, randn(1), randn(2))\n"
        "diff(randn(1), 3)\n"
        "diff(randn(3), 0, 0, randn(1), randn(2))",
    .bad = "diff(zeros()) => diff: a 0-d tensor has no neighbours",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::diff_op
