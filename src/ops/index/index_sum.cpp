#include "ops/common.h"
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
  check_same_type(c, self, c.tensor(3), "source");
  const Tensor& source = c.tensor(3);
  bool fits = source.dim() == self.dim();
  for (int64_t d = 0; fits && d < self.dim(); ++d) fits = source.size(d) == (d == dim_of(c) ? index.numel() : self.size(d));
  DY_CHECK(fits && (self.dim() || index.numel() == 1),
           "{}: the sizes do not fit: source is {} for {} places along dimension {} of {}", c.name, describe(source),
           index.numel(), dim_of(c), describe(self));
  infer_like_first(c);
}

int64_t workspace(const Call& c) { return combine_scratch(c, c.tensor(3)); }
double flops(const Call& c) { return double(c.tensor(3).numel()); }

void forward(Call& c) {
  check_positions(c, c.tensor(2), size_of(c), dim_of(c));
  combine_at(c, IndexedOp::add, c.tensor(3),
             [&](const Tensor& out, const Tensor& source) { return loop_along_1d(out, source, c.tensor(2), dim_of(c)); });
}
Tensor complex_parts(const Arg* a) { return by_parts(Op::index_sum_, a, 4); }
void backward(Grad& g) {
  g.set(0, g.g());
  if (g.needs(2)) g.set(2, index_select(g.g(), g.integer(1), g.in(1)));
}

}  // namespace

extern constexpr OpDef index_sum_op = {
    .sig = "index_sum(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    .doc = "self with the entries of source added along dim where index says: index_add without a factor.",
    .inplace = true,
    .samples =
        "index_sum(randn(3, 4), 0, indices(3; 5), randn(5, 4))\n"
        "index_sum(randn(3, 4), -1, indices(4; 2), randn(3, 2))\n"
        "index_sum(randn(2, 3, 4), 1, indices(3; 4), randn(2, 4, 4))\n"
        "index_sum(randn(), 0, indices(1; 1), randn())",
    .bad =
        "index_sum(zeros(2), 0, indices(5; 2), zeros(2)) => index_sum: index out of range: index 4 at position 0; dimension 0 "
        "has 2 entries",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {0, 0, in(1)},
    .flops = flops,
    .workspace = workspace,
    .complex = complex_parts,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
