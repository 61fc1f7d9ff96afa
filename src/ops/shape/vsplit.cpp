#include "ops/common.h"

namespace dyadic::inline v1::ops::vsplit_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() >= 2, "vsplit: needs at least 2 dimensions: self is {}", describe(t));
  const int64_t dim = 0, parts = a[arg::sections];
  DY_CHECK(parts > 0 && t.size(dim) % parts == 0,
           "vsplit: the sections do not come out even: {} sections of dimension {} of {}", parts, dim, describe(t));
  return tensor_split(t, parts, dim);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "vsplit(Tensor self, int sections) -> Tensor[]",
    .doc = "So many equal views along dimension 0.",
    .kind = OpKind::composite,
    .samples = "vsplit(randn(4, 3), 2)",
    .bad = "vsplit(zeros(3, 3, 3), 2) => vsplit: the sections do not come out even: 2 sections of dimension 0 of f32[3, 3, 3]",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::vsplit_op
