#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::sum_op {
namespace {

void infer(Call& c) {
  infer_reduction(c, 2,
                  c.tensor(0).dtype().is_scaled()           ? f32
                  : c.tensor(0).dtype().is_floating_point() ? c.tensor(0).dtype()
                                                            : i64);
}
void backward(Grad& g) { g.set(0, keep_dims(g.g(), g.in_meta(0), g.node.args[1]).expand(g.in_meta(0).shape())); }

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
