#include "ops/common.h"

namespace dyadic::inline v1::ops::tensor_split_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t parts = a[arg::sections];
  DY_CHECK(t.dim() > 0, "tensor_split: a 0-d tensor cannot be split");
  DY_CHECK(parts > 0, "tensor_split: the number of sections is not positive: sections is {}", parts);
  const int64_t dim = wrap_dim("tensor_split", a[arg::dim], t.dim()), n = t.size(dim);
  std::vector<Tensor> out;
  for (int64_t i = 0, at = 0; i < parts; ++i) {
    const int64_t size = n / parts + (i < n % parts);
    out.push_back(narrow(t, dim, at, size));
    at += size;
  }
  return out;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "tensor_split(Tensor self, int sections, int dim=0) -> Tensor[]",
    .doc = "So many views along dim, the first ones larger by one where it does not come out even.",
    .kind = OpKind::composite,
    .samples =
        "tensor_split(randn(7, 2), 3)\n"
        "tensor_split(randn(2, 3), 4, 1)",
    .bad = "tensor_split(zeros(3), 0) => tensor_split: the number of sections is not positive: sections is 0",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::tensor_split_op
