#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/index/batched.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_copy_op {
namespace {

void plan(Call& c) {
  const Operand out = c.result();
  c.plan.set<run_indexed_write>(
      IndexedWrite{loop_along_1d(out, c.operand(arg::source), c[arg::index].numel(), IndexedSource::dim(c)),
                   IndexedSource::positions(c), out, c.operand(arg::self), arg::index.tensor, arg::source.tensor});
}
void backward(Grad& g) {
  if (g.needs(arg::self)) g.set(arg::self, index_fill(g.g(), g[arg::dim], g.in(arg::index), 0));
  if (!g.needs(arg::source)) return;
  const Meta& source = g.in_meta(arg::source);
  if (source.shape().size() > 1) return g.set(arg::source, index_select(g.g(), g[arg::dim], g.in(arg::index)));
  g.set(arg::source, reshape(index_select(reshape(g.g(), {-1}), 0, reshape(g.in(arg::index), {-1})), source.shape()));
}

bool batched(BatchedCall& b) { return batched_along(b, false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    .doc =
        "self with the entries of source written along dim where index (int64, one dimension) says; the last of several "
        "counts.",
    .inplace = true,
    .samples =
        "index_copy(randn(4, 3), 0, indices(4; 2), randn(2, 3))\n"
        "index_copy(randn(2, 5, 2), 1, indices(5; 3), randn(2, 3, 2))\n"
        "index_copy(randn(), 0, indices(1; 1), randn())",
    .bad =
        "index_copy(zeros(2), 0, indices(5; 2), zeros(2)) => index_copy: index out of range: index 4 at position 0; dimension "
        "0 has 2 entries",
    .infer = IndexedSource::infer_flat,
    .backward = backward,
    .needs = {in(arg::index), 0, in(arg::index)},
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::index_copy_op
