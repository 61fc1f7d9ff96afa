#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::median_dim_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = wrap_dim("median", a[arg::dim], t.dim());
  DY_CHECK_AS(IndexError, t.dim() == 0 || t.size(dim) > 0, "median: nothing to choose from: self is {}", describe(t));
  std::vector<Tensor> r = call_all(Op::kth_rows_, to_last(t, dim), int64_t(-1));
  if (t.dim() == 0) return r;
  for (Tensor& part : r) part = a[arg::keepdim] ? from_last(part, dim) : squeeze(part, -1);
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "The lower median; NaN if there is one, of dim, and where it is.",
    .kind = OpKind::composite,
    .samples =
        "median_dim(randn(3, 4), 1)\n"
        "median_dim(randn(3, 4), 0, True)\n"
        "median_dim(randn(), 0)",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::median_dim_op
