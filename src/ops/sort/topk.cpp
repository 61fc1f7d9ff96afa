#include <algorithm>

#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::topk_op {
namespace {

std::vector<Tensor> compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  const int64_t dim = wrap_dim("topk", a[2].integer, t.dim());
  const int64_t k = t.dim() ? a[1].integer : std::max<int64_t>(a[1].integer, 1);  // a number is there or it is not
  std::vector<Tensor> r = call_all(Op::top_rows_, to_last(t, dim), k, a[3].boolean);
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
