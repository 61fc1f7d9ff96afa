#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_select_op {
namespace {

int64_t dim_of(const Call& c) { return wrap_dim(c.name, c.integer(1), c.tensor(0).dim()); }
int64_t size_of(const Call& c) { return c.tensor(0).dim() ? c.tensor(0).size(dim_of(c)) : 1; }
void infer(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  dim_of(c);
  check_index_type(c, index);
  DY_CHECK_AS(IndexError, index.dim() <= 1, "{}: the index has one dimension: index is {}", c.name, describe(index));
  (void)self;
  infer_like_first(c);
  if (c.spec[0].ndim) c.spec[0].sizes[dim_of(c)] = index.numel();
  DY_CHECK(c.spec[0].ndim || index.numel() == 1, "index_select: of a 0-d tensor one entry can be selected: index is {}",
           describe(index));
}
void forward(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2),
               indices = index.is_contiguous() ? index : make_over(c.workspace, index.sizes(), i64);
  if (!index.is_contiguous()) assign(indices, index);
  check_positions(c, indices, size_of(c), dim_of(c));
  indexed_kernel().read(loop_along_1d(self, c.out[0], indices, dim_of(c)), self.impl()->data(), c.out[0].impl()->data(),
                        self.dtype().itemsize(), kAnyPosition);
}
int64_t workspace(const Call& c) { return c.tensor(2).is_contiguous() ? 0 : c.tensor(2).numel() * 8; }
void backward(Grad& g) {
  g.set(0, index_add(zeros(g.in_meta(0).shape(), g.g().dtype(), g.in_meta(0).device), g.integer(1), g.in(1), g.g()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    .doc = "The entries of a dimension that index (int64, one dimension) names.",
    .samples =
        "index_select(randn(3, 4), 0, indices(3; 5))\n"
        "index_select(randn(3, 4), -1, indices(4; 2))\n"
        "index_select(randn(2, 3, 4), 1, indices(3; 4))\n"
        "index_select(randn(), 0, indices(1; 1))\n"
        "index_select(randn(3), 0, indices(3; 0))",
    .bad =
        "index_select(zeros(2, 3), 0, indices(5; 2)) => index_select: index out of range: index 4 at position 0; dimension 0 "
        "has 2 entries\n"
        "index_select(zeros(2, 3), 0, indices(2; 2, 2)) => index_select: the index has one dimension: index is i64[2, 2]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .workspace = workspace,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::index_select_op
