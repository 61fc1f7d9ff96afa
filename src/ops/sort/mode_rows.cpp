#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::mode_rows_op {
namespace {

void infer(Call& c) {
  check_order(c);
  DY_CHECK_AS(IndexError, rows_of(c[arg::self]).size > 0, "mode: nothing to choose from: self is {}", describe(c[arg::self]));
  infer_like_first(c);
  c.spec[1] = c.spec[0];
  for (int j = 0; j < 2; ++j)
    if (c.spec[j].ndim) c.spec[j].sizes[c.spec[j].ndim - 1] = 1;
  c.spec[1].dtype = i64;
  c.nout = 2;
}
void plan(Call& c) {
  RowOrder p = order_rows(c);
  c.plan.workspace = order_workspace(p);
  c.plan.set<mode_rows>(p);
}
double flops(const Call& c) { return double(c[arg::self].numel()); }
void backward(Grad& g) { g.set(arg::self, picked_gradient(g.g(), g.out(1), g.in_meta(arg::self), -1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "mode_rows(Tensor self) -> (Tensor values, Tensor indices)",
    .doc = "The most frequent value of the last dimension, the smallest of several, and where it stands last.",
    .internal = true,
    .samples =
        "mode_rows(randn(3, 7))\n"
        "mode_rows(randn())",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::mode_rows_op
