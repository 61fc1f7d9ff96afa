#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::sort_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = wrap_dim("sort", a[arg::dim], t.dim());
  std::vector<Tensor> r = call_all(Op::sort_rows_, to_last(t, dim), a[arg::descending]);
  for (Tensor& part : r) part = from_last(part, dim);
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "sort(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)",
    .doc = "The entries of dim in order, and where each came from. Equal ones keep their order; NaN counts as largest.",
    .kind = OpKind::composite,
    .samples =
        "sort(randn(3, 4))\n"
        "sort(steps(3, 4), 0, True)\n"
        "sort(randn(2, 3, 4), 1)\n"
        "sort(randn())\n"
        "sort(randn(0, 2), 0)",
    .bad = "sort(zeros(2), 1) => sort: dimension out of range: dim is 1; expected -1 to 0",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::sort_op
