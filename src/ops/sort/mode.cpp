#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::mode_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t dim = wrap_dim("mode", a[arg::dim], t.dim());
  DY_CHECK_AS(IndexError, t.dim() == 0 || t.size(dim) > 0, "mode: nothing to choose from: self is {}", describe(t));
  std::vector<Tensor> r = call_all(Op::mode_rows_, to_last(t, dim));
  if (t.dim() == 0) return r;
  for (Tensor& part : r) part = a[arg::keepdim] ? from_last(part, dim) : squeeze(part, -1);
  return r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    .doc = "The most frequent entry of dim, the smallest of several, and where it stands last.",
    .kind = OpKind::composite,
    .samples =
        "mode(randn(3, 4))\n"
        "mode(randn(3, 4), 0, True)\n"
        "mode(randn())",
    .skip = "torch_special: zeros of both signs are equal, and NaN different",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::mode_op
