#include "ops/expected.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::scatter_value_op {
namespace {

void infer(Call& c) {
  c.name = "scatter";
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  const int64_t dim = wrap_dim(c.name, c.integer(1), self.dim());
  check_index_shape(c, index, self, "self", dim);
  expect_number(c.name, c.scalar(3), plain(self));
  infer_like_first(c);
}
void check(const Call& c, int64_t dim) {
  const Tensor& self = c.tensor(0);
  check_positions(c, c.tensor(2), self.dim() ? self.size(dim) : 1, dim, true);
}

void forward(Call& c) {
  const Tensor &self = c.tensor(0), &out = c.out[0];
  const int64_t dim = wrap_dim(c.name, c.integer(1), self.dim());
  check(c, dim);
  start_from_self(c);
  alignas(16) char stored[16];
  encode_number(c.scalar(3), out.dtype(), stored);
  indexed_kernel().write(loop_along(out, Tensor(), c.tensor(2), dim), out.impl()->data(), stored, out.dtype().itemsize());
}
void backward(Grad& g) { g.set(0, scatter_value(g.g(), g.integer(1), g.in(1), 0)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .doc = "self with a number written along dim where index says.",
    .inplace = true,
    .samples =
        "scatter_value(randn(3, 4), 1, indices(4; 3, 2), 1.5)\n"
        "scatter_value(randn(3, 4), 0, indices(3; 2, 4), 2)",
    .bad =
        "scatter_value(zeros(2), 0, indices(5; 2), 1) => scatter: index out of range: index 4 at position 0; dimension 0 "
        "has 2 entries",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::scatter_value_op
