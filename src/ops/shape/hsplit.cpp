#include "ops/common.h"

namespace dyadic::inline v1::ops::hsplit_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 1, "hsplit: needs at least 1 dimension: self is {}", describe(t));
  const int64_t dim = t.dim() == 1 ? 0 : 1, parts = a[arg::sections];
  DY_CHECK(parts > 0 && t.size(dim) % parts == 0,
           "hsplit: the sections do not come out even: {} sections of dimension {} of {}", parts, dim, describe(t));
  return tensor_split(t, parts, dim);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "hsplit(Tensor self, int sections) -> Tensor[]",
    .doc = "So many equal views along the second dimension (the only one of 1-d tensors).",
    .kind = OpKind::composite,
    .samples = "hsplit(randn(2, 6), 2)",
    .bad = "hsplit(zeros(3, 3, 3), 2) => hsplit: the sections do not come out even: 2 sections of dimension 1 of f32[3, 3, 3]",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::hsplit_op
