#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::top_rows_op {
namespace {

void infer(Call& c) {
  check_order(c);
  const int64_t n = rows_of(c[arg::self]).size, k = c[arg::k];
  DY_CHECK(k >= 0 && k <= n, "topk: k is out of range: k is {}, the dimension has {} entries", k, n);
  infer_like_first(c);
  c.spec[1] = c.spec[0];
  for (int j = 0; j < 2; ++j)
    if (c.spec[j].ndim) c.spec[j].sizes[c.spec[j].ndim - 1] = c[arg::k];
  c.spec[1].dtype = i64;
  c.nout = 2;
}
void plan(Call& c) {
  RowOrder p = order_rows(c);
  p.backwards = c[arg::largest];
  c.plan.workspace = order_workspace(p);
  c.plan.set<top_rows>(p);
}
double flops(const Call& c) { return double(c[arg::self].numel()); }
void backward(Grad& g) { g.set(arg::self, picked_gradient(g.g(), g.out(1), g.in_meta(arg::self), -1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "top_rows(Tensor self, int k, bool largest) -> (Tensor values, Tensor indices)",
    .doc = "The k largest (or smallest) of the last dimension in order: topk calls it.",
    .internal = true,
    .samples =
        "top_rows(randn(3, 7), 2, True)\n"
        "top_rows(steps(2, 300), 5, False)\n"
        "top_rows(randn(3, 4), 4, True)\n"
        "top_rows(randn(), 1, True)",
    .bad = "top_rows(zeros(3), 4, True) => topk: k is out of range: k is 4, the dimension has 3 entries",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::top_rows_op
