#include "ops/expected.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops {
namespace {

int64_t dim_of(const Call& c) { return wrap_dim(c.name, c.integer(1), c.tensor(0).dim()); }
int64_t size_of(const Call& c) { return c.tensor(0).dim() ? c.tensor(0).size(dim_of(c)) : 1; }
void infer(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  dim_of(c);
  check_index_type(c, index);
  DY_CHECK(index.dim() <= 1, "{}: the index has one dimension: index is {}", c.name, describe(index));
  expect_number(c.name, c.scalar(3), plain(self));
  infer_like_first(c);
}
void forward(Call& c) {
  check_positions(c, c.tensor(2), size_of(c), dim_of(c));
  start_from_self(c);
  const Tensor& out = c.out[0];
  alignas(16) char stored[16];
  encode_number(c.scalar(3), out.dtype(), stored);
  indexed_kernel().write(loop_along_1d(out, Tensor(), c.tensor(2), dim_of(c)), out.impl()->data(), stored,
                         out.dtype().itemsize());
}
void backward(Grad& g) { g.set(0, index_fill(g.g(), g.integer(1), g.in(1), 0)); }

}  // namespace

extern constexpr OpDef index_fill_op = {
    .sig = "index_fill(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .doc = "self with a number written to the entries of dim that index (int64, one dimension) names.",
    .inplace = true,
    .samples =
        "index_fill(randn(3, 4), 0, indices(3; 2), 1.5)\n"
        "index_fill(randn(2, 3, 4), 1, indices(3; 2), 2)\n"
        "index_fill(randn(), 0, indices(1; 1), 0)",
    .bad =
        "index_fill(zeros(2), 0, indices(5; 2), 1) => index_fill: index out of range: index 4 at position 0; dimension 0 has 2 "
        "entries",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
