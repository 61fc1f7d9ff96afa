#include "ops/common.h"

namespace dyadic::inline v1::ops::renorm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  if (!x.dtype().is_complex()) check_float("renorm", x, "self");
  const double p = a[arg::p].real(), most = a[arg::maxnorm].real();
  DY_CHECK(p > 0 && most >= 0, "renorm: p is positive and maxnorm not negative: p is {}, maxnorm is {}", p, most);
  DY_CHECK(x.dim() > 1, "renorm: needs at least two dimensions: self is {}", describe(x));
  const int64_t dim = wrap_dim("renorm", a[arg::dim], x.dim());
  std::vector<int64_t> others;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != dim) others.push_back(d);
  const Tensor norms = vector_norm(x, p, others, true);
  return mul(x, where(gt(norms, Scalar(most)), div(Scalar(most), add(norms, Scalar(1e-7))), full_like(norms, 1)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    .doc = "self with every slice of dim whose p-norm is above maxnorm scaled down to it.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples = "renorm(randn(3, 4), 2, 0, 1)\nrenorm(randn(2, 3, 4), 1, -1, 2.5)",
    .bad = "renorm(randn(3), 2, 0, 1) => renorm: needs at least two dimensions: self is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::renorm_op
