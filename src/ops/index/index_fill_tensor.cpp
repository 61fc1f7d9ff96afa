#include "ops/common.h"

namespace dyadic::inline v1::ops::index_fill_tensor_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &value = a[arg::value];
  const int64_t dim = wrap_dim("index_fill", a[arg::dim], self.dim()), size = self.dim() ? self.size(dim) : 1;
  DY_CHECK(value.dim() == 0, "index_fill: the value is a number or a 0-d tensor: value is {}", describe(value));
  std::vector<int64_t> shape(size_t(self.dim()), 1);
  if (self.dim()) shape[size_t(dim)] = size;
  const Tensor named = index_fill(zeros({size}, boolean, self.device()), 0, a[arg::index], 1);
  return where(named.reshape(shape), to(value, plain(self)), self);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_fill.tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    .doc = "self with the 0-d tensor value written to the entries of dim that index (int64, one dimension) names.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "index_fill_tensor(randn(2, 3, 4), 1, indices(3; 2), randn())\n"
        "index_fill_tensor(randn(), 0, indices(1; 1), randn())",
    .bad =
        "index_fill_tensor(zeros(2), 0, indices(2; 1), zeros(2)) => index_fill: the value is a number or a 0-d tensor: value "
        "is "
        "f32[2]\n"
        "index_fill_tensor(zeros(2), 0, indices(5; 2), zeros()) => index_fill: index out of range: index 4 at position 0; "
        "dimension 0 has 2 entries",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::index_fill_tensor_op
