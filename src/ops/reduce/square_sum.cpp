#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops::square_sum_op {
namespace {

using Sum = FloatSum<ReduceOp::sum_squares>;
void infer(Call& c) {
  check_float(c.name, c[arg::self], "self");
  infer_reduction(c, 2, compute_dtype(plain(c[arg::self])));
}
void backward(Grad& g) {
  g.set(arg::self, mul(mul(keep_dims(g.g(), g.in_meta(arg::self), g.arg(arg::dim)), 2), g.in(arg::self)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "square_sum(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The sum of squares over dim (all dimensions if absent) of a floating-point tensor, in f32 at least, without the "
        "squares in memory.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "square_sum(randn(3, 4))\n"
        "square_sum(randn(3, 4), [0])\n"
        "square_sum(randn(3, 4), [1], True)",
    .skip = "result_dtype: squares leave the range of 16 bits",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self)},
    .flops = Sum::flops,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::sum_squares>};

}  // namespace dyadic::inline v1::ops::square_sum_op
