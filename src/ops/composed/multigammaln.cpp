#include "ops/common.h"

namespace dyadic::inline v1::ops::multigammaln_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  const int64_t p = a[arg::p];
  DY_CHECK_AS(ValueError, p >= 1, "multigammaln: p is {}; it is 1 or more", p);
  const Tensor real = x.dtype().is_integer() ? to(x, default_dtype()) : x;
  const Tensor halves = to(mul(arange(0, p, 1, f64, x.device()), 0.5), plain(real));
  const Tensor terms = lgamma(sub(unsqueeze(real, -1), halves));  // [..., p]: an absurd p is refused by memory
  return to(add(sum(terms, {-1}), double(p) * double(p - 1) / 4 * 1.1447298858494002), plain(real));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "multigammaln(Tensor self, int p) -> Tensor",
    .doc = "log of the multivariate gamma function: p (p - 1) / 4 log(pi) plus lgamma(x - j / 2) for j < p.",
    .aliases = "mvlgamma",
    .kind = OpKind::composite,
    .inplace = true,
    .low = 1.5,
    .high = 8,
    .samples = "multigammaln(rand(3, 5), 1)\nmultigammaln(rand(3, 5), 3)",
    .bad = "multigammaln(ones(2), 0) => multigammaln: p is 0; it is 1 or more",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::multigammaln_op
