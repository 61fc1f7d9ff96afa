#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::kthvalue_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = wrap_dim("kthvalue", a[arg::dim], t.dim());
  const int64_t n = t.dim() ? t.size(dim) : 1, k = a[arg::k];
  DY_CHECK_AS(IndexError, n > 0, "kthvalue: nothing to choose from: self is {}", describe(t));
  DY_CHECK(k > 0 && k <= n, "kthvalue: k is out of range: k is {}, the dimension has {} entries", k, n);
  std::vector<Tensor> r = call_all(Op::kth_rows_, to_last(t, dim), a[arg::k] - 1);
  if (t.dim() == 0) return r;
  for (Tensor& part : r) part = a[arg::keepdim] ? from_last(part, dim) : squeeze(part, -1);
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "The k-th smallest entry of dim, counted from 1, and where it is.",
    .kind = OpKind::composite,
    .samples =
        "kthvalue(randn(3, 4), 2)\n"
        "kthvalue(randn(3, 4), 1, 0, True)\n"
        "kthvalue(randn(), 1)",
    .bad =
        "kthvalue(zeros(3), 0) => kthvalue: k is out of range: k is 0, the dimension has 3 entries\n"
        "kthvalue(zeros(2, 0), 1) => kthvalue: nothing to choose from: self is f32[2, 0]",
    .skip = "torch_integers: of equal elements PyTorch names any, Dyadic the first",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::kthvalue_op
