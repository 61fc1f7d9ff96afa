#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::gather_op {
namespace {

void infer(Call& c) {
  const Tensor& index = c.tensor(2);
  const int64_t dim = wrap_dim("gather", c.integer(1), c.tensor(0).dim());
  check_index_shape(c, index, c.tensor(0), "self", dim);
  infer_like_first(c);
  c.spec[0].shape(index.sizes());
}
void forward(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  const int64_t dim = wrap_dim("gather", c.integer(1), self.dim());
  const int64_t size = self.dim() ? self.size(dim) : 1;
  if (!indexed_kernel().read(loop_along(self, c.out[0], index, dim), self.impl()->data(), c.out[0].impl()->data(),
                             self.dtype().itemsize(), size))
    check_positions(c, index, size, dim, true);  // says which
}
void backward(Grad& g) {
  const Tensor sum = zeros(g.in_meta(0).shape(), g.g().dtype(), g.in_meta(0).device);
  g.set(0, call_inplace(Op::scatter_add_, sum, g.integer(1), g.in(1), g.g()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    .doc =
        "The elements of self along dim that index (int64) names: out[i][j] = self[index[i][j]][j] for dim 0. index may be "
        "smaller than self in the other dimensions.",
    .samples =
        "gather(randn(3, 4), 1, indices(4; 3, 2))\n"
        "gather(randn(3, 4), 0, indices(3; 2, 4))\n"
        "gather(randn(2, 3, 4), -2, indices(3; 2, 5, 3))\n"
        "gather(randn(), 0, indices(1; ))\n"
        "gather(randn(3), 0, indices(3; 0))",
    .bad =
        "gather(zeros(2, 3), 0, indices(5; 1, 3)) => gather: index out of range: index 4 at position 0; dimension 0 has 2 "
        "entries\n"
        "gather(zeros(2, 3), 0, indices(2; 4)) => gather: the index does not fit: index is i64[4], self is f32[2, 3]; sizes "
        "but that of dimension 0 are no larger\n"
        "gather(zeros(2), 0, zeros(2)) => gather: the index is int64: index is f32[2]; convert with .to(i64)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::gather_op
