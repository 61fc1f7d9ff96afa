#include <algorithm>

#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::topk_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = wrap_dim("topk", a[arg::dim], t.dim());
  const int64_t k = t.dim() ? a[arg::k] : std::max<int64_t>(a[arg::k], 1);  // a number is there or it is not
  std::vector<Tensor> r = call_all(Op::top_rows_, to_last(t, dim), k, a[arg::largest]);
  for (Tensor& part : r) part = from_last(part, dim);
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    .doc =
        "The k largest (or smallest) entries of dim, in order, and where they are; the first of equal ones. NaN counts as "
        "largest.",
    .kind = OpKind::composite,
    .samples =
        "topk(randn(3, 4), 2)\n"
        "topk(steps(5, 4), 3, 0, False)\n"
        "topk(randn(2, 3, 4), 0, 1)\n"
        "topk(randn(), 1)\n"
        "topk(randn(), 0)",
    .bad = "topk(zeros(3), 4) => topk: k is out of range: k is 4, the dimension has 3 entries",
    .skip = "torch_integers: of equal elements PyTorch names any, Dyadic the first",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::topk_op
