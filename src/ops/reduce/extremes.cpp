#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::extremes_op {
namespace {

void infer(Call& c) {
  check_comparable(c);
  infer_reduction(c, 2, plain(c[arg::self]));
  c.nout = 2;
  c.spec[1] = c.spec[0];
}
void backward(Grad& g) {
  const Tensor x = g.in(arg::self);
  const Arg& dim = g.arg(arg::dim);
  Tensor sum;
  for (int k = 0; k < 2; ++k) {
    if (!g.g(k).defined()) continue;
    const Tensor part = share_among(x, g.out(k), g.g(k), g.in_meta(arg::self), dim);
    sum = sum.defined() ? add(sum, part) : part;
  }
  g.set(arg::self, sum);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "extremes(Tensor self, int[]? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    .doc = "amin and amax in one pass.",
    .internal = true,
    .samples =
        "extremes(randn(3, 4))\n"
        "extremes(randn(3, 4), [0])\n"
        "extremes(randn(3, 4), [1], True)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(0) | out(1)},
    .flops = [](const Call& c) { return 2 * reduction_flops(c); },
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::extremes>};

}  // namespace dyadic::inline v1::ops::extremes_op
