#include "ops/nn/softmax.h"

namespace dyadic::inline v1::ops::softmax_op {
namespace {

void infer(Call& c) { infer_softmax(c, c[arg::self], c[arg::dim], c.arg(arg::dtype)); }
void plan(Call& c) { plan_softmax(c, c[arg::dim], false); }
void backward(Grad& g) { softmax_gradient(g, g[arg::dim], false); }
double flops(const Call& c) { return 13.0 * double(c[arg::self].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax(Tensor self, int dim=-1, *, ScalarType? dtype=None) -> Tensor",
    .doc = "exp(x) over the sum of exp(x) along dim, of x in dtype.",
    .amp = Amp::f32,
    .samples =
        "softmax(randn(3, 4), 0)\n"
        "softmax(randn(2, 3, 4), -1)\n"
        "softmax(randn(2, 3), 1, f64)\n"
        "softmax(randn(2, 3, 9), 1)\n"
        "softmax(randn(40, 21), 0)\n"
        "softmax(randn(3, 5), 1)\n"
        "softmax(randn(2, 5, 3), 1)",
    .infer = infer,
    .backward = backward,
    .needs = {out(0)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self)};

}  // namespace dyadic::inline v1::ops::softmax_op
