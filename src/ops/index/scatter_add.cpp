#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::scatter_add_op {
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

int64_t dim_of(const Call& c) { return wrap_dim(c.name, c.integer(1), c.tensor(0).dim()); }
int64_t workspace(const Call& c) {
  CombineRows rows;
  return combines_rows(c, dim_of(c), rows) ? combine_kernel().workspace(rows, source_of(c, 0))
                                           : combine_scratch(c, c.tensor(3));
}
double flops(const Call& c) { return double(c.tensor(2).numel()); }

void forward(Call& c) {
  const int64_t dim = dim_of(c);
  check(c, dim);
  CombineRows rows;
  if (combines_rows(c, dim, rows)) {
    rows.index = c.tensor(2).data<int64_t>();
    return combine_kernel().rows(rows, IndexedOp::add, source_of(c, 0), source_of(c, 3), target_of(c), nullptr, c.workspace);
  }
  combine_at(c, IndexedOp::add, c.tensor(3),
             [&](const Tensor& out, const Tensor& src) { return loop_along(out, src, c.tensor(2), dim); });
}
Tensor complex_parts(const Arg* a) { return by_parts(Op::scatter_add_, a, 4); }
void backward(Grad& g) {
  g.set(0, g.g());
  if (g.needs(2)) g.set(2, pad_to(gather(g.g(), g.integer(1), g.in(1)), g.in_meta(2)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .doc =
        "self with the elements of src added along dim where index (int64) says, in the order of the index, whatever the "
        "number of threads.",
    .inplace = true,
    .samples =
        "scatter_add(randn(3, 4), 1, indices(4; 3, 5), randn(3, 5))\n"
        "scatter_add(randn(3, 4), 0, indices(3; 1, 4), randn(1, 4))\n"
        "scatter_add(randn(2, 3, 2), -1, indices(2; 2, 3, 1), randn(2, 3, 1))\n"
        "scatter_add(randn(), 0, indices(1; ), randn())",
    .bad =
        "scatter_add(zeros(2), 0, indices(5; 2), zeros(2)) => scatter_add: index out of range: index 4 at position 0; "
        "dimension 0 has 2 entries",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {0, 0, in(1)},
    .flops = flops,
    .workspace = workspace,
    .complex = complex_parts,
    .dense = true,
    .index = 2,
};

}  // namespace dyadic::inline v1::ops::scatter_add_op
