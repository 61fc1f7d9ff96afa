#include <algorithm>

#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/index/batched.h"
#include "ops/index/indexed.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::index_sum_op {
namespace {

double flops(const Call& c) { return double(c[arg::source].numel()); }

void infer(Call& c) {
  c.name = "index_add";
  IndexedSource::infer(c);
}
struct Targets {
  CombineTargets targets;
  Positions positions;
  const Format *self, *source, *out;
};
void run_targets(const Targets& p, const Pointers& at) {
  const auto* index = static_cast<const int64_t*>(at.in[arg::index.tensor]);
  p.positions.check(index);
  CombineTargets t = p.targets;
  auto *start = static_cast<int64_t*>(at.workspace), *order = start + t.targets + 1;
  std::fill_n(start, t.targets + 1, 0);
  for (int64_t j = 0; j < t.places; ++j) ++start[index[j] + 1];
  for (int64_t k = 0; k < t.targets; ++k) start[k + 1] += start[k];
  for (int64_t j = 0; j < t.places; ++j) order[start[index[j]]++] = j;
  std::copy_backward(start, start + t.targets, start + t.targets + 1);  // each has moved on to where the next began
  start[0] = 0;
  t.start = start, t.order = order;
  combine_kernel().add_targets(t, source(at, 0, p.self), source(at, arg::source.tensor, p.source), target(at, 0, p.out));
}
// Rows long enough to be worth it are done by target: each is read, added to and written once.
bool by_targets(const Call& c, CombineTargets& t) {
  const Tensor& self = c[arg::self];
  if (self.dim() == 0 || !c.result().is_contiguous()) return false;
  const int64_t dim = IndexedSource::dim(c);
  t = {.count = 1, .targets = self.size(dim), .places = c[arg::index].numel(), .lanes = 1};
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != dim) (d < dim ? t.count : t.lanes) *= self.size(d);
  return t.lanes >= 16;
}
void plan(Call& c) {
  const Positions positions = IndexedSource::positions(c);
  CombineTargets t;
  if (by_targets(c, t)) {
    c.plan.workspace = (t.targets + 1 + t.places) * 8;
    return c.plan.set<run_targets>(Targets{t, positions, format_of(c, arg::self), format_of(c, arg::source), result_format(c)});
  }
  const auto loop = [&](const Operand& sum, const Operand& source) {
    return loop_along_1d(sum, source, c[arg::index].numel(), IndexedSource::dim(c));
  };
  c.plan.set<run_indexed_combination>(IndexedCombination{plan_combination(c, IndexedOp::add, c.operand(arg::source), loop),
                                                         positions, arg::index.tensor, arg::source.tensor});
}
Tensor complex_parts(Args a) { return by_parts(Op::index_sum_, a, 4); }
void backward(Grad& g) {
  g.set(arg::self, g.g());
  if (g.needs(arg::source)) g.set(arg::source, index_select(g.g(), g[arg::dim], g.in(arg::index)));
}

bool batched(BatchedCall& b) { return batched_along(b, true); }

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
    .backward = backward,
    .needs = {0, 0, in(arg::index)},
    .flops = flops,
    .complex = complex_parts,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::index_sum_op
