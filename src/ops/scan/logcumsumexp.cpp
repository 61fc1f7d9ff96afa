#include <cmath>

#include "ops/common.h"
#include "ops/scan/scanning.h"

namespace dyadic::inline v1::ops::logcumsumexp_op {
namespace {

void infer(Call& c) {
  check_float("logcumsumexp", c[arg::self], "self");
  infer_scan(c, -1);
}
double flops(const Call& c) { return 22 * double(c[arg::self].numel()); }
// d out_j / d x_i = exp(x_i - out_j) for j >= i; positive and negative gradients apart, in logarithms, as sums of exponentials.
void backward(Grad& g) {
  if (g.in_meta(arg::self).ndim == 0) return g.set(arg::self, g.g());
  const int64_t dim = g[arg::dim];
  const Tensor x = g.in(arg::self), out = g.out();
  auto part = [&](const Tensor& gradient) {
    const Tensor positive = gt(gradient, 0.0);
    const Tensor size = log(where(positive, gradient, ones_like(gradient.detach())));
    const Tensor terms = where(positive, sub(size, out), scalar_tensor(-HUGE_VAL));
    return exp(add(flip(logcumsumexp(flip(terms, {dim}), dim), {dim}), x));
  };
  g.set(arg::self, sub(part(g.g()), part(neg(g.g()))));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "logcumsumexp(Tensor self, int dim) -> Tensor",
    .doc = "log(cumsum(exp(self))) along dim, without overflow.",
    .amp = Amp::f32,
    .samples =
        "logcumsumexp(randn(3, 4), 1)\n"
        "logcumsumexp(randn(3, 4), 0)\n"
        "logcumsumexp(randn(), 0)\n"
        "logcumsumexp(randn(0, 2), 0)",
    .skip = "double_backward: where no gradient flows it is log(0) - log(0)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(0)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan_scan<ScanOp::logsumexp>, .dense = true};

}  // namespace dyadic::inline v1::ops::logcumsumexp_op
