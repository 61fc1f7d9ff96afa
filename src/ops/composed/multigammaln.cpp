#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& x = *a[0].tensor;
  const int64_t p = a[1].integer;
  DY_CHECK_AS(ValueError, p >= 1, "multigammaln: p is {}; it is 1 or more", p);
  Tensor sum = lgamma(x);
  for (int64_t j = 1; j < p; ++j) sum = add(sum, lgamma(sub(x, double(j) / 2)));
  return add(sum, double(p * (p - 1)) / 4 * 1.1447298858494002);
}

}  // namespace

extern constexpr OpDef multigammaln_op = {
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

}  // namespace dyadic::inline v1::ops
