#include "ops/complex_math.h"
#include "ops/reduce/reduction.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::prod_op {
namespace {

void infer(Call& c) {
  infer_reduction(c, 2,
                  c[arg::self].dtype().is_scaled()           ? f32
                  : c[arg::self].dtype().is_floating_point() ? c[arg::self].dtype()
                                                             : i64);
}
// What the other elements multiply to: out / x, but where there is a zero only that one has a gradient, the product of the
// rest.
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  const Arg& dim = g.arg(arg::dim);
  const Tensor x = g.in(arg::self), zero = eq(x.detach(), 0), none = scalar_tensor(0), rest = where(zero, scalar_tensor(1), x);
  const Tensor many = keep_dims(call(Op::sum_, zero, dim, false, Arg()), m, dim);
  const Tensor product = mul(keep_dims(g.g(), m, dim), keep_dims(call(Op::prod_, rest, dim, false, Arg()), m, dim));
  g.set(arg::self, call(Op::div_or_, where(eq(many, 0), product, none), x, where(eq(many, 1), product, none)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "prod(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc =
        "The product over dim (all dimensions if absent) of self in dtype. "
        "Its second derivative is right where no element is zero.",
    .amp = Amp::f32,
    .low = 0.5,
    .samples =
        "prod(randn(3, 4), [0])\n"
        "prod(randn(3, 4), [1], False, f64)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self)},
    .flops = reduction_flops,
    .complex = complex_prod,
    .variant = prod_variant,
};
extern constexpr Kernel cpu = {.plan = plan_reduction<ReduceOp::prod>};

}  // namespace dyadic::inline v1::ops::prod_op
