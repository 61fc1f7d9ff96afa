#include "ops/common.h"

namespace dyadic::inline v1::ops::glu_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  const int64_t dim = wrap_dim("glu", a[arg::dim], x.dim()), n = x.dim() ? x.size(dim) : 1;
  DY_CHECK(n % 2 == 0, "glu: the size of dim is odd: self is {}, dim is {}", describe(x), a[arg::dim]);
  return call(Op::gated_, narrow(x, dim, 0, n / 2), narrow(x, dim, n / 2, n / 2));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "glu(Tensor self, int dim=-1) -> Tensor",
    .doc = "The first half along dim times the sigmoid of the second. (Dauphin et al. 2016.)",
    .kind = OpKind::composite,
    .samples = "glu(randn(3, 6))\nglu(randn(4, 3, 5), 0)",
    .bad = "glu(zeros(2, 3)) => glu: the size of dim is odd: self is f32[2, 3], dim is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::glu_op
