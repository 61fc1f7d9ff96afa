#include "ops/common.h"

namespace dyadic::inline v1::ops::unbind_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK_AS(IndexError, t.dim() > 0, "unbind: a 0-d tensor has no dimension");
  const int64_t dim = wrap_dim("unbind", a[arg::dim], t.dim());
  std::vector<Tensor> out;
  for (int64_t i = 0; i < t.size(dim); ++i) out.push_back(select(t, dim, i));
  return one_of_many(std::move(out));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "unbind(Tensor self, int dim=0) -> Tensor[]",
    .doc = "Views of the entries of a dimension, without it.",
    .kind = OpKind::composite,
    .samples =
        "unbind(randn(3, 2))\n"
        "unbind(randn(2, 3), -1)",
    .bad = "unbind(zeros()) => unbind: a 0-d tensor has no dimension",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::unbind_op
