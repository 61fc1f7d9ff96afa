#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::scatter_op {
namespace {

void infer(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  const int64_t dim = wrap_dim(c.name, c.integer(1), self.dim());
  check_index_shape(c, index, self, "self", dim);
  check_same_type(c, self, c.tensor(3), "src");
  check_index_shape(c, index, c.tensor(3), "src", -1);
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
  indexed_kernel().write(loop_along(out, c.tensor(3), c.tensor(2), dim), out.impl()->data(), c.tensor(3).impl()->data(),
                         out.dtype().itemsize());
}
void backward(Grad& g) {
  if (g.needs(0)) g.set(0, scatter_value(g.g(), g.integer(1), g.in(1), 0));
  if (g.needs(2)) g.set(2, pad_to(gather(g.g(), g.integer(1), g.in(1)), g.in_meta(2)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor",
    .doc =
        "self with the elements of src written along dim where index (int64) says: out[index[i][j]][j] = src[i][j] for dim 0. "
        "Of several for one place the last one counts; with reduce \"add\" or \"multiply\" all of them and self "
        "(scatter_reduce).",
    .inplace = true,
    .samples =
        "scatter(randn(3, 4), 1, indices(4; 3, 2), randn(3, 2))\n"
        "scatter(randn(3, 4), 0, indices(3; 1, 4), randn(1, 4))\n"
        "scatter(randn(2, 3, 2), -1, indices(2; 2, 3, 1), randn(2, 3, 1))\n"
        "scatter(randn(), 0, indices(1; ), randn())",
    .bad =
        "scatter(zeros(2), 0, indices(5; 2), zeros(2)) => scatter: index out of range: index 4 at position 0; dimension 0 has "
        "2 entries\n"
        "scatter(zeros(2), 0, indices(2; 3), zeros(2)) => scatter: the index does not fit: index is i64[3], src is f32[2]; "
        "sizes but that of dimension -1 are no larger",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1), 0, in(1)},
    .variant = scatter_variant,
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::scatter_op
