#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::moments_op {
namespace {

void infer(Call& c) {
  check_float(c.name, c[arg::self], "self");
  infer_reduction(c, 2, plain(c[arg::self]));
  c.nout = 2;
  c.spec[1] = c.spec[0];
  if (c.spec[0].dtype != f64) c.spec[1].dtype = f32;
}
void backward(Grad& g) {
  const Meta& x = g.in_meta(arg::self);
  const Arg& dim = g.arg(arg::dim);
  Tensor sum;  // in the mean's dtype
  if (g.g(0).defined()) sum = mul(sub(g.in(arg::self), keep_dims(g.out(1), x, dim)), mul(keep_dims(g.g(0), x, dim), 2));
  if (g.g(1).defined()) {
    const Tensor share = div(keep_dims(g.g(1), x, dim), double(reduced_count(x, dim))).expand(x.shape());
    sum = sum.defined() ? add(sum, share) : share;
  }
  g.set(arg::self, to(sum, x.dtype));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "moments(Tensor self, int[]? dim=None, bool keepdim=False) -> (Tensor squares, Tensor mean)",
    .doc =
        "The sum of squared distances from the mean over dim (all dimensions if absent), and the mean (at least f32), "
        "in one pass.",
    .internal = true,
    .samples =
        "moments(randn(3, 4))\n"
        "moments(randn(3, 4), [0])\n"
        "moments(randn(3, 4), [1], True)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(1)},
    .flops = [](const Call& c) { return 5 * reduction_flops(c); },  // the mean; differences, squares and both sums
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::moments>};

}  // namespace dyadic::inline v1::ops::moments_op
