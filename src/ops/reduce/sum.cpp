#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::sum_op {
namespace {

void infer(Call& c) {
  infer_reduction(c, 2,
                  c[arg::self].dtype().is_scaled()           ? f32
                  : c[arg::self].dtype().is_floating_point() ? c[arg::self].dtype()
                                                             : i64);
}
void backward(Grad& g) {
  g.set(arg::self, keep_dims(g.g(), g.in_meta(arg::self), g.arg(arg::dim)).expand(g.in_meta(arg::self).shape()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "sum(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc =
        "The sum over dim (all dimensions if absent) of self in dtype; integers and bool sum in int64. Blocked, in a fixed "
        "order: "
        "the same bits for any number of threads.",
    .amp = Amp::f32,
    .samples =
        "sum(randn(3, 4), [0])\n"
        "sum(randn(3, 4), [1], False, f64)",
    .infer = infer,
    .backward = backward,
    .flops = reduction_flops,
    .complex = complex_sum,
    .variant = sum_variant,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::sum>};

}  // namespace dyadic::inline v1::ops::sum_op
