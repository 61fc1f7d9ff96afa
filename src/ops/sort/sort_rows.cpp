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
int64_t workspace(const Call& c) { return order_workspace(c.tensor(0)); }
void forward(Call& c) { sort_rows(c.tensor(0), c.boolean(1), c.out[0], c.out[1], c.workspace); }
double flops(const Call& c) { return double(c.tensor(0).numel()); }
void backward(Grad& g) { g.set(0, picked_gradient(g.g(), g.out(1), g.in_meta(0), -1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "sort_rows(Tensor self, bool descending) -> (Tensor values, Tensor indices)",
    .doc = "The last dimension sorted, stably, and where each value came from: sort calls it.",
    .samples =
        "sort_rows(randn(3, 7), False)\n"
        "sort_rows(steps(2, 300), True)\n"
        "sort_rows(randn(), False)\n"
        "sort_rows(randn(2, 0), False)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::sort_rows_op
