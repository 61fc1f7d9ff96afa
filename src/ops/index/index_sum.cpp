#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops {
namespace {

int64_t workspace(const Call& c) { return combine_scratch(c, c.tensor(3)); }
double flops(const Call& c) { return double(c.tensor(3).numel()); }

void forward(Call& c) {
  IndexedSource::check(c);
  combine_at(c, IndexedOp::add, c.tensor(3), [&](const Tensor& out, const Tensor& source) {
    return loop_along_1d(out, source, c.tensor(2), IndexedSource::dim(c));
  });
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
    .infer = IndexedSource::infer,
    .forward = forward,
    .backward = backward,
    .needs = {0, 0, in(1)},
    .flops = flops,
    .workspace = workspace,
    .complex = complex_parts,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
