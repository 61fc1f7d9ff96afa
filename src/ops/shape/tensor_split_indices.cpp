#include "ops/common.h"

namespace dyadic::inline v1::ops::tensor_split_indices_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  DY_CHECK(t.dim() > 0, "tensor_split: a 0-d tensor cannot be split");
  std::vector<Tensor> out;
  std::optional<int64_t> from;
  for (int64_t cut : ints_of(a.arg(arg::indices))) {
    out.push_back(slice(t, a[arg::dim], from, cut));
    from = cut;
  }
  out.push_back(slice(t, a[arg::dim], from));
  return out;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "tensor_split.indices(Tensor self, int[] indices, int dim=0) -> Tensor[]",
    .doc = "Views along dim, cut before the given indices as slices cut.",
    .kind = OpKind::composite,
    .samples =
        "tensor_split_indices(randn(7, 2), [2, 5])\n"
        "tensor_split_indices(randn(2, 4), [1, -1], 1)\n"
        "tensor_split_indices(randn(3), [5])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::tensor_split_indices_op
