#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::kth_rows_op {
namespace {

void infer(Call& c) {
  check_order(c);
  const int64_t n = rows_of(c[arg::self]).size, k = c[arg::k];
  DY_CHECK(k >= kNanMedian && k < n, "kth_rows: k is out of range: k is {}, the dimension has {} entries", k, n);
  infer_like_first(c);
  c.spec[1] = c.spec[0];
  for (int j = 0; j < 2; ++j)
    if (c.spec[j].ndim) c.spec[j].sizes[c.spec[j].ndim - 1] = 1;
  c.spec[1].dtype = i64;
  c.nout = 2;
}
void plan(Call& c) {
  RowOrder p = order_rows(c);
  p.wanted = c[arg::k];
  c.plan.workspace = choose_workspace(p);
  c.plan.set<kth_rows>(p);
}
double flops(const Call& c) { return double(c[arg::self].numel()); }
void backward(Grad& g) { g.set(arg::self, picked_gradient(g.g(), g.out(1), g.in_meta(arg::self), -1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "kth_rows(Tensor self, int k) -> (Tensor values, Tensor indices)",
    .doc = "The k-th smallest of the last dimension, counted from 0; -1: the median, -2: the median of what is not NaN.",
    .internal = true,
    .samples =
        "kth_rows(randn(3, 7), 2)\n"
        "kth_rows(randn(2, 300), 199)\n"
        "kth_rows(randn(3, 4), -1)\n"
        "kth_rows(randn(3, 4), -2)\n"
        "kth_rows(randn(), 0)",
    .bad = "kth_rows(zeros(3), 3) => kth_rows: k is out of range: k is 3, the dimension has 3 entries",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::kth_rows_op
