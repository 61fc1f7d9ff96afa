#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::sort_rows_op {
namespace {

void infer(Call& c) {
  check_order(c);
  infer_like_first(c);
  c.spec[1] = c.spec[0];
  c.spec[1].dtype = i64;
  c.nout = 2;
}
void plan(Call& c) {
  RowOrder p = order_rows(c);
  p.backwards = c[arg::descending];
  c.plan.workspace = order_workspace(p);
  c.plan.set<sort_rows>(p);
}
double flops(const Call& c) { return double(c[arg::self].numel()); }
void backward(Grad& g) { g.set(arg::self, picked_gradient(g.g(), g.out(1), g.in_meta(arg::self), -1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "sort_rows(Tensor self, bool descending) -> (Tensor values, Tensor indices)",
    .doc = "The last dimension sorted, stably, and where each value came from: sort calls it.",
    .internal = true,
    .samples =
        "sort_rows(randn(3, 7), False)\n"
        "sort_rows(steps(2, 300), True)\n"
        "sort_rows(randn(), False)\n"
        "sort_rows(randn(2, 0), False)",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::sort_rows_op
