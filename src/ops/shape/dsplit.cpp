#include "ops/common.h"

namespace dyadic::inline v1::ops::dsplit_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 3, "dsplit: needs at least 3 dimensions: self is {}", describe(t));
  const int64_t dim = 2, parts = a[arg::sections];
  DY_CHECK(parts > 0 && t.size(dim) % parts == 0,
           "dsplit: the sections do not come out even: {} sections of dimension {} of {}", parts, dim, describe(t));
  return tensor_split(t, parts, dim);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "dsplit(Tensor self, int sections) -> Tensor[]",
    .doc = "So many equal views along dimension 2.",
    .kind = OpKind::composite,
    .samples = "dsplit(randn(1, 2, 4), 2)",
    .bad = "dsplit(zeros(3, 3, 3), 2) => dsplit: the sections do not come out even: 2 sections of dimension 2 of f32[3, 3, 3]",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::dsplit_op
