#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  infer_reduction(c, 2,
                  c.tensor(0).dtype().is_scaled()           ? f32
                  : c.tensor(0).dtype().is_floating_point() ? c.tensor(0).dtype()
                                                            : i64);
}
void forward(Call& c) { run_reduction(c, ReduceOp::prod); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::prod); }
void backward(Grad& g) {
  g.set(0, div(mul(keep_dims(g.g(), g.in_meta(0), g.node.args[1]), keep_dims(g.out(), g.in_meta(0), g.node.args[1])), g.in(0)));
}

}  // namespace

extern constexpr OpDef prod_op = {
    .sig = "prod(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc =
        "The product over dim (all dimensions if absent) of self in dtype. Its gradient divides by the elements: they must not "
        "be zero.",
    .amp = Amp::f32,
    .low = 0.5,
    .samples =
        "prod(randn(3, 4), [0])\n"
        "prod(randn(3, 4), [1], False, f64)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(0) | out(0)},
    .flops = reduction_flops,
    .workspace = workspace,
    .complex = complex_prod,
    .variant = prod_variant,
};

}  // namespace dyadic::inline v1::ops
