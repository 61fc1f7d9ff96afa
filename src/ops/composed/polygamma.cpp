#include <cmath>

#include "ops/common.h"

namespace dyadic::inline v1::ops::polygamma_op {
namespace {

Tensor compose(Args a) {
  const int64_t n = a[arg::n];
  const Tensor& x = a[arg::self];
  DY_CHECK_AS(ValueError, n >= 0, "polygamma: n is {}; it is 0 or more", n);
  if (n == 0) return digamma(x);
  double factor = n % 2 ? 1 : -1;
  for (int64_t k = 2; k <= n && std::isfinite(factor); ++k) factor *= double(k);
  Tensor sum = zeta(double(n) + 1, x);
  return factor == 1 ? sum : mul(sum, factor);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "polygamma(int n, Tensor self) -> Tensor",
    .doc = "The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x).",
    .kind = OpKind::composite,
    .low = 0.5,
    .high = 6,
    .samples = "polygamma(0, rand(3, 5))\npolygamma(1, rand(3, 5))\npolygamma(2, rand(3, 5))\npolygamma(3, rand(5))",
    .bad = "polygamma(-1, ones(2)) => polygamma: n is -1; it is 0 or more",
    .skip = "torch_digits: trigamma has ten digits in PyTorch",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::polygamma_op
