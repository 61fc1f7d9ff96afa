#include <algorithm>

#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::index_sum_op {
namespace {

// Rows long enough to be worth it are done by target: each is read, added to and written once.
bool by_targets(const Call& c, CombineTargets& t) {
  const Tensor& self = c.tensor(0);
  if (self.dim() == 0 || !c.out[0].is_contiguous()) return false;
  const int64_t dim = IndexedSource::dim(c);
  t = {.count = 1, .targets = self.size(dim), .places = c.tensor(2).numel(), .lanes = 1};
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != dim) (d < dim ? t.count : t.lanes) *= self.size(d);
  return t.lanes >= 16;
}
int64_t workspace(const Call& c) {
  CombineTargets t;
  return by_targets(c, t) ? (t.targets + 1 + t.places) * 8 : combine_scratch(c, c.tensor(3));
}
double flops(const Call& c) { return double(c.tensor(3).numel()); }

void infer(Call& c) {
  c.name = "index_add";
  IndexedSource::infer(c);
}
void forward(Call& c) {
  IndexedSource::check(c);
  CombineTargets t;
  if (by_targets(c, t)) {
    const int64_t* index = c.tensor(2).data<int64_t>();
    auto *start = static_cast<int64_t*>(c.workspace), *order = start + t.targets + 1;
    std::fill_n(start, t.targets + 1, 0);
    for (int64_t j = 0; j < t.places; ++j) ++start[index[j] + 1];
    for (int64_t k = 0; k < t.targets; ++k) start[k + 1] += start[k];
    for (int64_t j = 0; j < t.places; ++j) order[start[index[j]]++] = j;
    std::copy_backward(start, start + t.targets, start + t.targets + 1);  // each has moved on to where the next began
    start[0] = 0;
    t.start = start, t.order = order;
    return combine_kernel().add_targets(t, source_of(c, 0), source_of(c, 3), target_of(c));
  }
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

extern constexpr OpDef record = {
    .sig = "index_sum(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    .doc = "self with the entries of source added along dim where index says: index_add without a factor.",
    .inplace = true,
    .internal = true,
    .samples =
        "index_sum(randn(3, 4), 0, indices(3; 5), randn(5, 4))\n"
        "index_sum(randn(2, 3, 20), 1, indices(3; 5), randn(2, 5, 20))\n"
        "index_sum(randn(3, 4), -1, indices(4; 2), randn(3, 2))\n"
        "index_sum(randn(2, 3, 4), 1, indices(3; 4), randn(2, 4, 4))\n"
        "index_sum(randn(), 0, indices(1; 1), randn())",
    .bad =
        "index_sum(zeros(2), 0, indices(5; 2), zeros(2)) => index_add: index out of range: index 4 at position 0; dimension 0 "
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

}  // namespace dyadic::inline v1::ops::index_sum_op
